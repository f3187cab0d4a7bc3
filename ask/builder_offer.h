#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/evidence.h"
#include "search/recommendation.h"

namespace hybridkv {

/// What packs would bring that no release makes by itself, and a plug-in that the program writes makes.
struct BuilderOffer {
  std::string builder;               ///< EngineRules::builder, as `hybridkv emit` calls it
  std::vector<std::int64_t> packs;   ///< N > 1 that were weighed: divisors of the attention layers that it makes
  Recommendation result;             ///< of these and N = 1: the pick's mode and the engine's block, match units and
                                     ///< retentions as asked
  Evidence evidence = Evidence::builder;  ///< of its pick
  bool is_better = false;            ///< its pick is a pack, and what was picked without any does not dominate it

  const Candidate& picked() const { return result.candidates[result.pick]; }
  const PlannedLayout& layout() const { return result.layout_of(result.pick); }
};

/// Weighs them beside the pick of a search that left them out; nothing where its engine has no such plug-in, that makes
/// no pack of the model, or no state makes blocks longer than attention wants them. A few simulations: one block and
/// mode each. Pre: nothing but N = 1 was searched, and the pick has blocks.
std::optional<BuilderOffer> builder_offer(RecommendSpec spec, const Recommendation& searched);

}  // namespace hybridkv
