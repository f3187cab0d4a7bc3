#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A flag of a pasted command that sets a key of the scenario, and the question without it.
struct FlagLeftOut {
  std::string typed;                 ///< "--kv-cache-dtype fp8"
  std::string key;                   ///< "engine.kv_dtype"
  std::string value;                 ///< as a scenario takes it; empty: what the flag says is the default
  std::function<Scenario()> without; ///< throws InputError where the rest is no whole question
};

/// What a plan of the first pack size comes to at the longest length.
struct PlanBrief {
  std::int64_t block_tokens = 0;  ///< of its primary attention, or of its first spec
  CapacityPlan capacity;
  std::string refused;            ///< why nothing is planned, one line; empty: it is
};

/// A flag, and what the same command without it comes to.
struct FlagEffect {
  std::string typed, key, value;  ///< as in FlagLeftOut
  PlanBrief without;
};

/// What every flag of a command does to the numbers: the whole command's plan, and those that leave one flag out.
struct FlagEffects {
  PlanBrief whole;
  std::vector<FlagEffect> flags;
};

/// Plans the whole and each of the others; one plan a flag.
FlagEffects flag_effects(const Scenario& whole, const std::vector<FlagLeftOut>& flags);

}  // namespace hybridkv
