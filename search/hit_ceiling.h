#pragma once

#include <cstdint>
#include <vector>

#include "search/reuse_paths.h"

namespace hybridkv {

/// A cache as far as bounds look into it: sizes, whatever the policy.
struct CacheSizes {
  std::int64_t memory_bytes = 0;  ///< of all ids that requests can get, >= 1
  std::int64_t unit_bytes = 0;    ///< K and V of a unit of tokens, all layers, >= 0
  std::int64_t state_bytes = 0;   ///< of the states that stand for one prefix, all layers, >= 0
};

/// What prices choose: for each request how many units of its prompt are worth being kept since they were last used.
struct PricedChoice {
  std::vector<std::int32_t> units;  ///< (request) 0: nothing
};

/// Tokens that no policy can pass, and the prices that prove it.
struct HitCeiling {
  double tokens = 0;                  ///< U; at most what a cache of endless memory finds
  std::vector<double> price;          ///< (gap between two requests) tokens that a byte kept over it costs, >= 0
  PricedChoice choice;                ///< at these prices
  std::int64_t evaluations = 0;       ///< of U
};

/// U of given prices: by weak duality no policy hits more tokens, whatever the prices.
///
/// A hit of p tokens needs the state at p and K and V of all units before it, each of them since the last request that
/// passed through it: between two requests at most memory_bytes are kept. With L(t) the prefix sum of the prices:
/// U = M L(T) + sum_t max(0, max_p [p - S (L(t) - L(last(p, t))) - sum_{v <= p} k (L(t) - L(last(v, t)))]). States are
/// allowed at every unit, which no engine exceeds. Pre: as many prices as there are gaps, none negative.
double hit_bound(const ReusePaths& paths, const CacheSizes& sizes, const std::vector<double>& price,
                 PricedChoice* choice = nullptr);

/// The least bound found: U is convex in the prices, so one price for all gaps is bisected first, then prices of ever
/// shorter stretches of the trace follow a subgradient. Every bound on the way is valid. Deterministic; a round costs
/// one pass over the stretches, of which there are `rounds` for each of about ten resolutions.
HitCeiling hit_ceiling(const ReusePaths& paths, const CacheSizes& sizes, int rounds = 60);

}  // namespace hybridkv
