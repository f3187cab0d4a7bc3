#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/arrangement.h"

namespace hybridkv {

/// Neighbouring groups, or pools, that are alike but for the numbers of their layers; tables and derivations show them
/// once.
struct PlanRun {
  std::size_t first = 0;
  std::size_t count = 0;
  /// "3", "0-14".
  std::string numbers() const;
  bool operator==(const PlanRun&) const = default;
};

/// Runs of groups of one spec with equally many pages and layers.
std::vector<PlanRun> group_runs(const Arrangement& plan);

/// Runs of pools that as many layers of each spec share.
std::vector<PlanRun> pool_runs(const Arrangement& plan);

}  // namespace hybridkv
