#include "search/search_space.h"

#include <utility>

namespace hybridkv {

std::vector<const SearchAxis*> asked_axes(const SearchSpace& space) {
  using namespace search_axis;
  const std::pair<bool, const SearchAxis*> lists[] = {
      {!space.packs.empty(), &packs},           {!space.block_floors.empty(), &block_sizes},
      {!space.modes.empty(), &modes},           {space.match_units.has_value(), &match_units},
      {!space.retentions.empty(), &retentions}, {!space.strategies.empty(), &strategies},
      {!space.ratios.empty(), &ratios},         {!space.page_sizes.empty(), &page_sizes},
      {!space.track_intervals.empty(), &track_intervals}, {!space.slots.empty(), &slots},
      {!space.snapshots.empty(), &snapshots}, {!space.snapshot_intervals.empty(), &snapshot_intervals},
      {!space.slot_checkpoints.empty(), &slot_checkpoints}, {!space.checkpoint_steps.empty(), &checkpoint_steps},
      {!space.cache_rams.empty(), &cache_rams}};
  std::vector<const SearchAxis*> asked;
  for (const auto& [given, axis] : lists)
    if (given) asked.push_back(axis);
  return asked;
}

}  // namespace hybridkv
