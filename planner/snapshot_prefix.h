#pragma once

#include <cstdint>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Tokens of a block of K and V, as of the state in it; 1 in a model without attention.
std::int64_t block_tokens_of(const Arrangement& arrangement);

/// Tokens that the second copy of an n-token prompt hits behind the first one in a tree that has room for both: the
/// last snapshot that is kept in what the tree has of the first n - 1. A block keeps the last snapshot in it. Without
/// reuse of parts whole blocks alone are found, and a shorter last piece where the tree ends with just that.
/// Example: from_end [0, 32] -> n - 32; interval 100 in whole blocks of 32, n 320 -> 200. Source: TensorRT-LLM, run.
std::int64_t copied_snapshot_tokens(const PoolGroups& groups, std::int64_t block_tokens, std::int64_t prompt_tokens);

/// Can two snapshots of one prompt lie in one block? The later one alone is kept. Branches are left out: a copy of a
/// prompt has none.
bool snapshots_share_blocks(const SnapshotPoints& points, std::int64_t block_tokens);

/// How finely a prefix is found again where snapshots of states lie at exact tokens. Pre: the arrangement has pool
/// groups.
PrefixPlan prefix_of_snapshots(const Arrangement& arrangement, const DerivationLog& log);

/// Writes down what a second copy of the longest sequence hits. Pre: the plan has pool groups, and a capacity.
void derive_copy(const CachePlan& plan, const DerivationLog& log);

}  // namespace hybridkv
