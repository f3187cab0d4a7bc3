#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// One warning of one or more plans.
struct WarningSummary {
  std::string text;                 ///< numbers in which the plans differ stand side by side: "holds 1 / 3 of 2 / 4"
  std::vector<std::int64_t> packs;  ///< N of the plans it concerns, in their order
};

/// The warnings of all plans; those of one code that differ in nothing but numbers are one. Of more than six different
/// numbers the first three and the last are shown.
std::vector<WarningSummary> summarised_warnings(const PlanSet& set);

}  // namespace hybridkv
