#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "planner/cache_plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What another release would print for the same question, in a line beside the answer.
struct ReleaseGlance {
  std::string_view label;            ///< of the line: "vLLM 0.33"
  BackendProfile profile = BackendProfile::sm90;
  std::optional<CacheMode> mode;     ///< unset: the model has no states
  std::int64_t block_tokens = 0;     ///< of its primary attention, or of its first spec
  CapacityPlan capacity;             ///< at the longest length
  std::string refusal;               ///< why it would not start; empty: it would
};

/// The scenario by the rules of its engine's successor: one layer a page, profile sm90 unless one is named, and what
/// that release does where the scenario says nothing (caching on). Null where the engine has none.
std::optional<ReleaseGlance> glance_at_successor(const Scenario& scenario);

}  // namespace hybridkv
