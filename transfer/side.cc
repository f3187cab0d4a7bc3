#include "transfer/side.h"

#include <fmt/format.h>

#include "planner/plan.h"
#include "planner/tree_settings.h"

namespace hybridkv {

TransferSide make_side(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits) {
  if (engine.decode_context_parallel > 1)
    throw SpecError("engine.decode_context_parallel",
                    fmt::format("{} ranks share the tokens of a block, in an order that no rule here describes; "
                                "transfers are listed for 1",
                                engine.decode_context_parallel));
  if (const std::int64_t ranks = engine.own[tree_key::attention_data_parallel]; ranks > 1)
    throw SpecError("engine.attention_data_parallel",
                    fmt::format("a request lives on some of the ranks where {} share requests; give the ranks of one "
                                "share as engine.tensor_parallel and leave this out",
                                ranks));
  TransferSide side{.tensor_parallel = engine.tensor_parallel};
  EngineSpec stage = engine;
  for (stage.pipeline_rank = 0; stage.pipeline_rank < engine.pipeline_parallel; ++stage.pipeline_rank)
    side.stages.push_back(make_plan(model, stage, limits));
  // Behind the plans: of a question with several faults they tell the one that `plan` tells.
  side.sets = collect_layer_sets(model, engine);
  for (const CachePlan& plan : side.stages) {
    if (!plan.view_error.empty()) throw SpecError("engine.release", "the engine makes no views: " + plan.view_error);
    expects(plan.specs.size() == side.sets.size(), "a plan has a spec for each set of layers");
  }
  const PrefixPlan& prefix = side.stages.front().prefix;
  side.prefix_unit = prefix.cacheable ? prefix.match_unit_tokens : 0;
  return side;
}

}  // namespace hybridkv
