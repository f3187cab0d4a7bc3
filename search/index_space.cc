#include "search/index_space.h"

#include <fmt/format.h>

#include "search/block_space.h"
#include "search/tree_space.h"

namespace hybridkv {

std::unique_ptr<IndexSpace> index_space(const RecommendSpec& spec, const WorkloadFacts& workload) {
  const EngineRules& rules = *spec.engine.rules;
  if (rules.radix_pools) return std::make_unique<TreeSpace>(spec, workload);
  if (!keeps_tensors_apart(rules.strategy)) return std::make_unique<BlockSpace>(spec);
  throw SpecError("engine.release",
                  fmt::format("{} has no blocks whose settings could be searched; `hybridkv compare --engines all` "
                              "shows it beside the others", rules.title));
}

}  // namespace hybridkv
