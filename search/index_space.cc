#include "search/index_space.h"

#include "engines/engine.h"
#include "search/block_space.h"
#include "search/tree_space.h"

namespace hybridkv {

std::unique_ptr<IndexSpace> index_space(const RecommendSpec& spec, const WorkloadFacts& workload) {
  const Engine& engine = engine_of(*spec.engine.rules);
  if (engine.axes.empty())
    throw not_known_of(*engine.rules, "how settings of {} are searched",
                       "`hybridkv compare --engines all` shows it beside the others");
  if (engine.blocks) return std::make_unique<BlockSpace>(spec);
  return std::make_unique<TreeSpace>(spec, workload);
}

}  // namespace hybridkv
