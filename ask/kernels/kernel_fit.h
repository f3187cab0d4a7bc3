#pragma once

#include <string>
#include <vector>

#include "ask/kernels/kernel_card.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What a layout does to a kernel, the worst last.
enum class KernelVerdict {
  fits,      ///< every stride is one that it takes or derives
  not_used,  ///< the plan has no view of its kind
  unknown,   ///< it was not right on its dense layout, or derives a stride by no known rule
  flagged,   ///< right on written slots, but NaN in stale ones gets into its result
  refuses,   ///< it ends in an error
  corrupts,  ///< it is silently wrong
};

struct KernelFit {
  std::string kernel;               ///< KernelCard::title
  KernelVerdict verdict = KernelVerdict::fits;
  std::vector<std::string> reasons; ///< sentences without a full stop, each with its numbers
};

/// What a plan does to a kernel, by its card: each stride of each view of its kind beside what the kernel takes or
/// derives, offsets beside 32 bits. Strides count elements, as frameworks do. Pre: the plan has views.
KernelFit kernel_fit(const KernelCard& card, const CachePlan& plan);

/// Reads the cards, puts what they have against a plan into its warnings (kernel_corrupts, kernel_refuses,
/// kernel_stale, kernel_unknown), and returns all fits. Throws InputError as read_kernel_card.
std::vector<KernelFit> judge_kernels(const std::vector<std::string>& files, CachePlan& plan);

/// "vllm.unified_attention 0.33.0 fits: …".
std::string kernel_sentence(const KernelFit& fit);

}  // namespace hybridkv
