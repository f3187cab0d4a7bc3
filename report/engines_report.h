#pragma once

#include <string>
#include <vector>

#include "ask/compare/compare.h"
#include "ask/full_memory.h"
#include "report/document.h"

namespace hybridkv {

/// All that a report on one question under several engines tells.
struct EnginesReportInputs {
  CompareAnswer comparison;           ///< with the rows of a replay
  std::vector<FullMemory> memories;   ///< of one rank of each engine
  std::vector<Picture> pictures;      ///< of the engines beside each other
  std::vector<std::string> commands;  ///< to repeat everything, ready for a shell
};

/// The report: which engine uses the cache best, the memory of each to scale, the pictures, the table of the numbers
/// that differ with those that do not folded, what is refused, the rules that make them differ, and the commands.
Document engines_report(const EnginesReportInputs& inputs);

}  // namespace hybridkv
