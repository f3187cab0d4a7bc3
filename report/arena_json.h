#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/arrangement.h"
#include "report/json_archive.h"

namespace hybridkv {

/// A lane under the arena that owns its pieces.
struct LaneOfArena {
  LanePlan lane;
};
template <class Archive, Is<LaneOfArena> T>
void fields(Archive& archive, T& of) {
  archive("pool", of.lane.pool.value);
  archive("offset_bytes", of.lane.offset);
  archive("stride_bytes", of.lane.stride);
  archive("bytes", of.lane.bytes);
}

/// An arena with its lanes: lane i of a plan is the i-th, counted through its arenas.
struct ArenaWithLanes {
  std::int64_t id = 0;
  ArenaPlan arena;
  std::vector<LaneOfArena> lanes;
};
template <class Archive, Is<ArenaWithLanes> T>
void fields(Archive& archive, T& of) {
  archive("id", of.id);
  archive("name", of.arena.name);
  archive("num_ids", of.arena.num_ids);
  archive.derived("usable_ids", [&of] { return of.arena.usable_ids(); });
  archive("bytes_per_id", of.arena.bytes_per_id);
  archive.unless("has_null_id", of.arena.has_null_id, true);
  archive("lanes", of.lanes);
}

/// The arenas of an arrangement with their lanes. Pre: lanes stand in the order of their arenas.
std::vector<ArenaWithLanes> arenas_with_lanes(const Arrangement& arrangement);

/// Arenas and lanes as arenas_with_lanes gave them. Throws InputError with the path of an id that is not the position.
void set_arenas(Arrangement& arrangement, const std::vector<ArenaWithLanes>& arenas, const std::string& path);

}  // namespace hybridkv
