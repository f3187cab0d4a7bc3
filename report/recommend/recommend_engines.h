#pragma once

#include <span>

#include "ask/recommend_engines.h"
#include "report/document.h"

namespace hybridkv {

/// The engines side by side, each with its pick: which to take and why, one row each, how the one to take is started,
/// and who refuses the question.
Document recommend_engines(std::span<const EngineRecommendation> engines);

}  // namespace hybridkv
