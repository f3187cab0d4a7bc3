#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/kernel_verdict.h"

namespace hybridkv {

/// A table of Markdown: each backend of attention, whether it declares the order of a plan and takes its blocks, whole
/// or in kernel blocks. Pre: plan.cache_order is set, a spec is attention.
std::string table_of_backends(const CachePlan& plan);

/// A list of Markdown: what the strides of a plan do to each kernel of the engine whose card is known, those left out
/// that no layer of the plan uses.
std::string list_of_kernels(const std::vector<KernelFit>& kernels);

/// What a kernel must step by in this plan, in bytes.
std::string steps_of_kernels(const CachePlan& plan);

}  // namespace hybridkv
