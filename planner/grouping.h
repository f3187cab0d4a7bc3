#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/supposed_groups.h"

namespace hybridkv {

/// g, the pages per group and so the number of pools: the most pages of any spec where that is less than 1.5 times
/// the fewest, else the fewest; auxiliary specs do not count. `asked` (engine.layers_per_group) overrides the rule, and
/// so does the widest group that is supposed.
/// Throws SpecError where no spec would fill such a group, so that a pool would hold nothing. Source: vLLM
/// get_kv_cache_groups.
std::int64_t pages_per_group(std::span<const SpecPlan> specs, std::optional<std::int64_t> asked,
                             const SupposedGroups& supposed, const DerivationLog& log);

/// The layers of pages first, first + n, first + 2n, … of a spec.
std::vector<std::vector<std::int64_t>> every_nth_page(const SpecPlan& spec, std::int64_t first, std::int64_t n);

/// The groups of all specs in their order, in arena 0: each spec makes ceil(pages / g), group i takes pages i,
/// i + groups, …; or those that are supposed. What is larger than a page of `page_bytes` takes several ids of each
/// entry.
std::vector<GroupPlan> make_groups(std::span<const SpecPlan> specs, std::int64_t pages_per_group,
                                   std::int64_t page_bytes, const SupposedGroups& supposed,
                                   const DerivationLog& log);

/// The pools with who shares them: pool j holds the j-th page of every group.
std::vector<PoolPlan> make_pools(std::span<const GroupPlan> groups, std::int64_t pages_per_group,
                                 std::int64_t num_blocks, std::int64_t page_bytes);

}  // namespace hybridkv
