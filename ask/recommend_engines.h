#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ask/recommend.h"

namespace hybridkv {

/// What a search of settings found under one release.
struct EngineRecommendation {
  std::string release;
  std::optional<RecommendAnswer> answer;
  std::string refused;  ///< why there is none
};

/// Can a user start its pick today, and is it known from runs what that finds?
bool is_for_use(const EngineRecommendation& engine);

/// Does its pick harm a kernel that was asked about?
bool harms_kernel(const EngineRecommendation& engine);

/// Which of them to take; nothing where none answers. Of those whose pick harms no kernel, of all where there is none,
/// and among these of those for use, of all where there is none, it is the one that computes fewest prompt tokens
/// again; of those within 0.5 % of all prompt tokens of it the one that runs most requests at once, and of equal ones
/// the first.
std::optional<std::size_t> engine_to_take(std::span<const EngineRecommendation> engines);

/// Of those for use that are not `taken` and harm no kernel the one that computes fewest tokens again; nothing where
/// there is none.
std::optional<std::size_t> next_engine(std::span<const EngineRecommendation> engines, std::size_t taken);

}  // namespace hybridkv
