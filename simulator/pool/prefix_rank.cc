#include "simulator/pool/prefix_rank.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hybridkv {

namespace {

constexpr double remembered_returns = 500;
constexpr double smoothing = 20;  // prefixes with the average chance that every kind begins with

}  // namespace

PrefixRank::KindKey PrefixRank::kind_of(const PrefixFacts& prefix) {
  return {std::min<std::int64_t>(prefix.uses, 3), std::min<std::int64_t>(prefix.turn, 8),
          std::bit_width(static_cast<std::uint64_t>(prefix.tokens))};
}

void PrefixRank::waits(const PrefixFacts& prefix) {
  ++all_.waited;
  ++kinds_[kind_of(prefix)].waited;
}

void PrefixRank::returned(const PrefixFacts& prefix, std::int64_t age) {
  ++all_.returns;
  ++kinds_[kind_of(prefix)].returns;
  if (prefix.uses > 0) return;
  const double faded = 1 - 1 / remembered_returns;
  returns_ = returns_ * faded + 1;
  return_ages_ = return_ages_ * faded + static_cast<double>(age);
}

void PrefixRank::went(double rank) { clock_ = std::max(clock_, rank); }

double PrefixRank::start() const {
  return policy_ == EvictionPolicy::cost || policy_ == EvictionPolicy::frequency ? clock_ : static_cast<double>(now_);
}

double PrefixRank::chance(const PrefixFacts& prefix) const {
  const auto found = kinds_.find(kind_of(prefix));
  const Kind kind = found == kinds_.end() ? Kind{} : found->second;
  const double of_all = (all_.returns + 1) / (all_.waited + 2);
  return (kind.returns + smoothing * of_all) / (kind.waited + smoothing);
}

double PrefixRank::rank(const PrefixFacts& prefix) const {
  const double saved = static_cast<double>(prefix.saved_tokens) / prefix.memory_tokens;
  switch (policy_) {
    case EvictionPolicy::lru:
    case EvictionPolicy::prefixes:
    case EvictionPolicy::second_chance: return prefix.since;
    case EvictionPolicy::cost: return prefix.since + saved;
    case EvictionPolicy::frequency: return prefix.since + static_cast<double>(1 + prefix.uses);
    // What is e times the worth may be one mean return older: exp(-age / mean return) times the worth, in logarithms.
    case EvictionPolicy::time_to_live:
      return prefix.since + mean_return() * (std::log(saved) + 2 * std::log(chance(prefix)));
    case EvictionPolicy::worth:
      return prefix.since + mean_return() * (2 * std::log(saved * static_cast<double>(1 + prefix.uses)) +
                                             std::log(static_cast<double>(prefix.turn)));
  }
  return prefix.since;
}

}  // namespace hybridkv
