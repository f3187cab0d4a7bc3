#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"
#include "report/document.h"
#include "report/table.h"

namespace hybridkv {

/// What a layout does to the kernels that would refuse it or corrupt it, a sentence each.
std::vector<std::string> kernel_harms(const std::vector<KernelFit>& fits);

/// Adds the same as warnings, and what it does to the other kernels behind them.
void add_kernels(Document& document, const std::vector<KernelFit>& fits);

/// The worst verdict in a word; empty where no kernel was asked about.
Cell worst_verdict_cell(const std::vector<KernelFit>& fits);

/// All of kernel_harms, one behind the other.
Cell kernel_harms_cell(const std::vector<KernelFit>& fits);

/// What a figure is called that has a kernel's verdict: "kernel vllm.unified_attention 0.33.0".
std::string figure_of_kernel(const std::string& kernel);

/// A layout by its name, and what it does to the kernels; nothing where it cannot be planned.
using NamedFits = std::pair<std::string, std::vector<KernelFit>>;

/// Warnings, one for each layout and kernel that would silently corrupt it: "N = 5: vllm.… would silently corrupt …".
Listing kernel_corruptions(const std::vector<NamedFits>& layouts);

/// A row a kernel, a column a layout: the verdicts in a word each. Kernels that are not clean everywhere are marked.
Table kernel_table(const std::vector<NamedFits>& layouts);

}  // namespace hybridkv
