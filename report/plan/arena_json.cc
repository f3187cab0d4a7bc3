#include "report/plan/arena_json.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

std::vector<ArenaWithLanes> arenas_with_lanes(const Arrangement& arrangement) {
  std::vector<ArenaWithLanes> arenas;
  for (const ArenaPlan& arena : arrangement.arenas) arenas.push_back({std::ssize(arenas), arena, {}});
  std::int64_t last = 0;
  for (const LanePlan& lane : arrangement.lanes) {
    expects(lane.arena.value >= last, "lanes stand in the order of their arenas");
    last = lane.arena.value;
    arenas.at(lane.arena.index()).lanes.push_back({lane});
  }
  return arenas;
}

void set_arenas(Arrangement& arrangement, const std::vector<ArenaWithLanes>& arenas, const std::string& path) {
  arrangement.arenas.clear();
  arrangement.lanes.clear();
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    const std::int64_t id = arenas[i].id;
    if (id != static_cast<std::int64_t>(i))
      JsonReader::fail(fmt::format("{}[{}].id", path, i), fmt::format("is {}, but must be the position", id));
    arrangement.arenas.push_back(arenas[i].arena);
    for (LaneOfArena of : arenas[i].lanes) {
      of.lane.arena = {id};
      arrangement.lanes.push_back(of.lane);
    }
  }
}

}  // namespace hybridkv
