#pragma once

#include <functional>
#include <vector>

#include "ask/recommend.h"
#include "search/radix_recommendation.h"

namespace hybridkv {

/// What to search under an engine with radix pools.
struct RadixQuestion : WeighQuestion {
  RadixSpace space;  ///< empty lists: its defaults
};

/// What was searched, and what was found.
struct RadixRecommendAnswer : RecommendBasics {
  RadixRecommendation result;
  /// (candidate) what an engine is told of it.
  std::vector<std::vector<EngineSetting>> settings;
};

/// The question of the pick, as scenario_of.
Scenario picked_scenario(const Scenario& scenario, const RadixRecommendAnswer& answer);

/// Searches the settings of an engine with radix pools for the scenario's model under its trace. Throws InputError with
/// the place of the value at fault, and as `recommend_radix` where nothing meets the limits. Pre: the release has radix
/// pools.
RadixRecommendAnswer recommend_radix_scenario(const Scenario& scenario, const RadixQuestion& question,
                                              const std::function<void(const RecommendProgress&)>& progress = {});

}  // namespace hybridkv
