#pragma once

#include <vector>

#include "ask/full_memory.h"
#include "report/document.h"

namespace hybridkv {

/// What one rank's memory holds, to scale, a bar for each that is not refused; without bars where all are.
Bars memory_bars(const std::vector<FullMemory>& memories);

/// Where the numbers of its bar come from, step by step. Pre: the plan has its derivation.
Document memory_bar_steps(const FullMemory& memory);

}  // namespace hybridkv
