#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Requests of `tokens` tokens that run at once: their ids suffice, and the engine starts no more of them. 0 where one
/// does not fit. Pre: tokens >= 1.
std::int64_t requests_at_once(const CachePlan& plan, std::int64_t tokens);

/// The plan with its memory as full as such requests make it: waste.at_load is of requests_at_once of them, and so is
/// what its derivation, where it has one, says of the load. Pre: tokens >= 1.
CachePlan with_full_load(CachePlan plan, std::int64_t tokens);

/// One part of the memory of a rank at the load of a plan.
struct MemoryPart {
  std::string_view name;   ///< "tokens", "states", "more_states", "padding", "tails", "reserved", "idle"
  std::string_view title;  ///< what it is, for people
  std::int64_t bytes = 0;
  /// Of the derivation: it is their sum; "reserved" holds also what lies beside the pools.
  std::vector<std::string> symbols;
};

/// The memory of a rank in seven parts, always the same in the same order.
/// Invariant: their sum is plan.memory_bytes() and what the engine takes beyond its budget, if it does.
/// Example: 40 GiB with 61 requests of 32,768 tokens, of which K and V take 28.6 GiB.
std::vector<MemoryPart> memory_parts(const CachePlan& plan);

}  // namespace hybridkv
