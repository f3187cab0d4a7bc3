#include "search/index_space.h"

#include "engines/engine.h"
#include "search/block_space.h"
#include "search/slot_space.h"
#include "search/snapshot_space.h"
#include "search/tree_space.h"

namespace hybridkv {

std::unique_ptr<IndexSpace> index_space(const RecommendSpec& spec, const WorkloadFacts& workload) {
  const Engine& engine = engine_of(*spec.engine.rules);
  if (engine.axes.empty())
    throw not_known_of(*engine.rules, "how settings of {} are searched",
                       "`hybridkv compare --engines all` shows it beside the others");
  if (spec.engine.num_blocks && takes(*engine.rules, "num_blocks"))
    throw SpecError("engine.num_blocks",
                    "the layouts to compare take different bytes per block, so that a number of blocks is no common "
                    "limit; give engine.memory instead");
  if (engine.blocks) return std::make_unique<BlockSpace>(spec);
  if (axis_of(engine, search_axis::slots)) return std::make_unique<SlotSpace>(spec);
  if (axis_of(engine, search_axis::snapshots)) return std::make_unique<SnapshotSpace>(spec);
  return std::make_unique<TreeSpace>(spec, workload);
}

}  // namespace hybridkv
