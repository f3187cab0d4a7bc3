#pragma once

#include <string>

#include "report/recommend/recommend_report.h"

namespace hybridkv {

/// "N = 5, mode align, block 432, only last checkpoints kept". Pre: the engine has blocks.
std::string settings_of_blocks(const RecommendAnswer& report, const Candidate& candidate);

/// What speaks for and against a pick of an engine with blocks: what a default never hits and what would, what it takes
/// in bookkeeping, and what packing gains. Pre: as above.
void add_block_reasons(const RecommendAnswer& report, RecommendReasons& reasons);

}  // namespace hybridkv
