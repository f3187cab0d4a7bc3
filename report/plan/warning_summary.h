#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// One warning of one or more plans.
struct WarningSummary {
  std::string code;                 ///< Warning::code
  std::string text;                 ///< numbers in which the plans differ stand side by side: "holds 1 / 3 of 2 / 4"
  std::vector<std::int64_t> packs;  ///< N of the plans whose numbers it gives, in their order
  std::vector<std::int64_t> alike;  ///< N of further plans of which it holds with other numbers
};

/// The warnings of all plans; those of one code that differ in nothing but numbers are one. More than a dozen numbers
/// that differ cannot be read side by side: then the first plan's are given, and the others are named as alike.
std::vector<WarningSummary> summarised_warnings(const PlanSet& set);

}  // namespace hybridkv
