#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engines/vllm/rules.h"
#include "planner/cache_plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What another release would print for the same question, in a line beside the answer.
struct ReleaseGlance {
  const EngineRules* rules = &rules_of_vllm_0_33;
  BackendProfile profile = BackendProfile::sm90;
  std::optional<CacheMode> mode;     ///< unset: the model has no states
  std::int64_t block_tokens = 0;     ///< of its primary attention, or of its first spec
  CapacityPlan capacity;             ///< at the longest length
  std::string refusal;               ///< why it would not start; empty: it would
};

/// The scenario by the rules of vLLM 0.33: one layer a page, profile sm90 unless one is named, and what that release
/// does where the scenario says nothing (caching on). Null where the scenario follows these rules already.
std::optional<ReleaseGlance> glance_at_vllm_0_33(const Scenario& scenario);

}  // namespace hybridkv
