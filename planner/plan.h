#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// How much of a plan is wanted.
enum class PlanDetail {
  full,      ///< all of it
  derived,   ///< without views: for readers of derivations
  numbers,   ///< without derivation and views, which only readers and tensors need: for searches over many plans
  summary,   ///< numbers, and of groups and pools only how many there are, not which layers lie where: for tables that
             ///< compare many plans of many layers
};

/// The layout of a model under an engine setting. Pure: no I/O, no globals, the same specs give the same plan.
///
/// Throws SpecError for a spec that cannot be planned: a value out of range, ranks that fit neither heads nor
/// channels, a kernel block that does not divide, a padded page that a view cannot step through, or memory too small
/// for every one of limits.max_model_lens (the message says the smallest that works; a number of blocks set by the user
/// is taken as it is). All details refuse the same specs, and agree in every field that they have.
CachePlan make_plan(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                    const std::optional<WorkspaceSpec>& workspace = std::nullopt,
                    PlanDetail detail = PlanDetail::full);

/// One plan per pack size, in the order given (engine.attention_pack_size is ignored); packs that another one beats
/// in every respect carry a warning. Throws as make_plan.
PlanSet make_plans(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                   std::span<const std::int64_t> pack_sizes,
                   const std::optional<WorkspaceSpec>& workspace = std::nullopt,
                   PlanDetail detail = PlanDetail::full);

}  // namespace hybridkv
