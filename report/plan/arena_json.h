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
  archive.named("lane_of_arena", "Id i owns the bytes offset_bytes + i * stride_bytes to + bytes of its pool.");
  archive("pool", of.lane.pool.value, "Position in pools.");
  archive("offset_bytes", of.lane.offset, "Of id 0, from the front of the pool.");
  archive("stride_bytes", of.lane.stride, "From one id's piece to the next.");
  archive("bytes", of.lane.bytes, "Of one piece.");
}

/// An arena with its lanes: lane i of a plan is the i-th, counted through its arenas.
struct ArenaWithLanes {
  std::int64_t id = 0;
  ArenaPlan arena;
  std::vector<LaneOfArena> lanes;
};
template <class Archive, Is<ArenaWithLanes> T>
void fields(Archive& archive, T& of) {
  archive.named("arena", "Ids that are interchangeable: one free list.");
  archive("id", of.id, "Position in arenas.");
  archive("name", of.arena.name, "How messages call its ids.");
  archive("num_ids", of.arena.num_ids, "Null id 0 included.");
  archive.derived("usable_ids", [&of] { return of.arena.usable_ids(); }, "Without the null id.");
  archive("bytes_per_id", of.arena.bytes_per_id, "Over its lanes, and what lies beside them.");
  archive.unless("has_null_id", of.arena.has_null_id, true, "False where id 0 is an id like all others; default true.");
  archive("lanes", of.lanes, "Lanes of a plan are counted through its arenas.");
}

/// The arenas of an arrangement with their lanes. Pre: lanes stand in the order of their arenas.
std::vector<ArenaWithLanes> arenas_with_lanes(const Arrangement& arrangement);

/// Arenas and lanes as arenas_with_lanes gave them. Throws InputError with the path of an id that is not the position.
void set_arenas(Arrangement& arrangement, const std::vector<ArenaWithLanes>& arenas, const std::string& path);

}  // namespace hybridkv
