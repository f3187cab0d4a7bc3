#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// A pack size that another one beats in every respect: block, bytes per request and concurrency are no better, one
/// of them worse.
struct DominatedPack {
  std::size_t plan = 0;  ///< position of the beaten plan
  std::size_t by = 0;    ///< position of the better one
  std::string reason;    ///< one sentence with the numbers
};

/// Which pack size costs fewest bytes for one request of the longest length asked for, and why.
struct PackComparison {
  std::size_t best = 0;  ///< position of the plan; ties go to the smaller block
  std::string reason;    ///< one sentence with the numbers
  std::vector<DominatedPack> dominated;
};

/// Compares plans of one model that differ in their pack size. Pre: at least one plan, the same lengths in all.
/// Source: vLLM PR 35703: N that divides the number of layers beats the others.
PackComparison compare_packs(std::span<const CachePlan> plans);

}  // namespace hybridkv
