#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ask/recommend.h"
#include "report/document.h"

namespace hybridkv {

/// What a search of settings found under one release.
struct EngineRecommendation {
  std::string release;
  std::optional<RecommendAnswer> answer;
  std::string refused;  ///< why there is none
};

/// How it is known that the engine finds what the pick finds, and arranges its memory so.
Evidence evidence_of_pick(const RecommendAnswer& answer);

/// Which of them to take; nothing where none answers. Of releases of today whose pick has a command that starts it and
/// is known from runs, of all where there is none, it is the one that computes fewest prompt tokens again; of those
/// within 0.5 % of all prompt tokens of it the one that runs most requests at once, and of equal ones the first.
std::optional<std::size_t> engine_to_take(std::span<const EngineRecommendation> engines);

/// The engines side by side, each with its pick: which to take and why, one row each, how the one to take is started,
/// and who refuses the question.
Document recommend_engines(std::span<const EngineRecommendation> engines);

}  // namespace hybridkv
