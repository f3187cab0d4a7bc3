#pragma once

#include <cstdint>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/layer_specs.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// One deployment that holds a request's cache: the ranks of a pipeline's stages, each with pools of its own. All ranks
/// of a stage have the same plan.
/// Rank r of stage p is number p * tensor_parallel + r.
struct TransferSide {
  std::vector<CachePlan> stages;      ///< views made
  std::vector<LayerSet> sets;         ///< (SpecPlan::id) what the model says of those layers, before ranks share them
  std::int64_t tensor_parallel = 1;   ///< ranks of a stage, which share heads and channels
  std::int64_t prefix_unit = 0;       ///< tokens whose multiples a prefix can be found at; 0: none ever is

  std::int64_t num_ranks() const { return std::ssize(stages) * tensor_parallel; }
  std::int64_t stage_of(std::int64_t rank) const { return rank / tensor_parallel; }
  const CachePlan& plan_of(std::int64_t rank) const { return stages[static_cast<std::size_t>(stage_of(rank))]; }
};

/// Plans every stage of a deployment at these lengths. Throws SpecError as make_plan, and where a request's tokens are
/// spread over ranks (engine.decode_context_parallel), whose order no rule here describes.
TransferSide make_side(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits);

}  // namespace hybridkv
