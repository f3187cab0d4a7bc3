#pragma once

#include <cstddef>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/engine_spec.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// The arenas of a plan with its cache mode and speculative tokens, no group yet.
CacheGeometry arenas_of(const CachePlan& plan);

/// One group more, with its arena where there are several; of a state in several pages one group a page.
void add_group(CacheGeometry& geometry, const CachePlan& plan, const GroupPlan& group);

/// The rules of the plan's release, and what they need to know of its states.
/// Throws SpecError where the release finds no prefixes in such pools.
PrefixRules prefix_rules_of(const CachePlan& plan);

/// The cache of a plan as the simulator sees it; settings that only a scheduler knows keep their defaults.
///
/// By the rules of June 2026 groups with a window take no part in prefix caching here: a request holds their blocks
/// beside what is found again, as many as the plan says of its length; in two-level pages and by the rules of vLLM 0.33
/// they are attention groups like others. In two-level pages every group has an arena, which share large pages. Hidden
/// states count as an attention group. A state that lies in several pages counts as one group a page: it is found where
/// all of them are. The longest max_model_len of the plan is the cache's.
CacheGeometry geometry_of(const CachePlan& plan, const EngineSpec& engine);

/// Which groups of a plan the groups of its cache are: positions in CachePlan::groups.
struct FoundGroups {
  std::vector<std::size_t> attention;  ///< (attention group)
  std::vector<std::size_t> states;     ///< (state group)
};
/// Throws as geometry_of.
FoundGroups found_groups(const CachePlan& plan, const EngineSpec& engine);

}  // namespace hybridkv
