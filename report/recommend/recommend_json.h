#pragma once

#include <string>

#include "report/recommend/recommend_report.h"

namespace hybridkv {

/// `recommend --format json`: the search, the picks by their position, the reasons, and every candidate.
std::string recommend_json(const RecommendAnswer& report);

}  // namespace hybridkv
