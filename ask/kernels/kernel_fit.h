#pragma once

#include <vector>

#include "ask/kernels/kernel_card.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What a plan does to a kernel, by its card: each stride of each view of its kind beside what the kernel takes or
/// derives, offsets beside 32 bits. Strides count elements, as frameworks do. Pre: the plan has views.
KernelFit kernel_fit(const KernelCard& card, const CachePlan& plan);

/// The fits of all cards. Where the engine makes no views of what it plans, all are unknown. Pre: the plan was made
/// with views, or has the reason why there are none.
std::vector<KernelFit> kernel_fits(const std::vector<KernelCard>& cards, const CachePlan& plan);

/// Puts the fits of all cards into a plan, and what they have against it into its warnings (kernel_corrupts,
/// kernel_refuses, kernel_stale, kernel_unknown). Pre: as kernel_fits, of a plan that was not judged.
void judge_kernels(const std::vector<KernelCard>& cards, CachePlan& plan);

}  // namespace hybridkv
