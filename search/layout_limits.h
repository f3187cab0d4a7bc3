#pragma once

#include <cstdint>
#include <vector>

#include "search/recommendation.h"

namespace hybridkv {

/// Kernel block of the attention layers, tokens; the largest number where there are none.
std::int64_t kernel_block_of(const CachePlan& plan);

/// Throws InputError where none of the layouts (positions in `layouts`) has the kernel block or the concurrency that is
/// demanded; the message says the least memory and the longest length with which one would. Pre: at least one layout.
void check_limits(const RecommendSpec& spec, const std::vector<PlannedLayout>& layouts,
                  const std::vector<std::size_t>& searched);

}  // namespace hybridkv
