#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/compare/compare_settings.h"
#include "planner/evidence.h"
#include "planner/full_load.h"

namespace hybridkv {

/// The memory of a rank under a plan with as many requests as run at once.
struct FullMemory {
  std::string name;               ///< whose it is: "N = 3, mode align", CompareSetting::name
  std::string refused;            ///< why there is none, in a line; empty: there is one, as below
  Evidence evidence = Evidence::run;
  CachePlan plan;                 ///< under that load: with_full_load
  std::int64_t tokens = 0;        ///< of each of the requests
  std::vector<MemoryPart> parts;  ///< of that plan

  std::int64_t bytes() const;     ///< of all parts
  std::int64_t requests() const { return std::ssize(plan.waste.at_load.sequence_tokens); }
};

/// Pre: tokens >= 1.
FullMemory full_memory(std::string name, CachePlan plan, std::int64_t tokens);

/// Of a setting, with requests of its longest length; the plan is without views and derivation.
FullMemory full_memory(const CompareSetting& setting);

}  // namespace hybridkv
