#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What strategies pool_groups and sequence_rows are, in one sentence. Pre: the plan has one of them.
std::string read_strategy_text(const CachePlan& plan);

/// Their pools, tensor by tensor, and how memory came to them. Pre: the plan has one of them.
std::vector<std::pair<std::string, std::string>> tensor_pool_facts(const CachePlan& plan);

/// How many requests of a length run at once. Pre: the plan has one of them.
std::vector<std::pair<std::string, std::string>> tensor_pool_capacity_facts(const CachePlan& plan,
                                                                            const CapacityPlan& capacity);

/// What is kept for prefixes, where. Pre: the plan has one of them.
std::string read_caching_text(const CachePlan& plan);

}  // namespace hybridkv
