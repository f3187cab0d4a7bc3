#include "simulator/losses/reuse_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace hybridkv {

std::int64_t ReuseLoss::total() const { return std::accumulate(lost.begin(), lost.end(), std::int64_t{0}); }

ReuseLoss& ReuseLoss::operator+=(const ReuseLoss& other) {
  token_exact_tokens += other.token_exact_tokens;
  found_tokens += other.found_tokens;
  for (std::size_t cause = 0; cause < lost.size(); ++cause) lost[cause] += other.lost[cause];
  return *this;
}

std::string loss_csv_fields(const ReuseLoss& loss) {
  std::string fields = fmt::format(",{}", loss.token_exact_tokens);
  for (const std::int64_t tokens : loss.lost) fields += fmt::format(",{}", tokens);
  return fields;
}

std::string loss_csv_names() {
  std::string names = ",token_exact_tokens";
  for (const auto& cause : loss_cause_names) names += fmt::format(",lost_{}", cause.name);
  return names;
}

ReuseLoss book(const ReuseTrail& trail) {
  expects(trail.matched_tokens <= trail.token_exact_tokens, "nothing is found that no earlier prompt began with");
  ReuseLoss loss{.token_exact_tokens = trail.token_exact_tokens,
                 .found_tokens = trail.ended_ok ? trail.matched_tokens : 0};
  // Up to where a request could resume if only the conditions so far had to be met.
  std::int64_t reach = trail.token_exact_tokens;
  const auto narrow = [&](LossCause cause, std::int64_t to) {
    to = std::min(reach, std::max(to, trail.matched_tokens));
    loss.of(cause) = reach - to;
    reach = to;
  };
  narrow(LossCause::block_tail, trail.whole_tokens);
  narrow(LossCause::last_token, trail.allowed_tokens);
  std::array<std::int64_t, num_loss_causes> furthest{};  // (cause) position that it stopped
  for (const MissedPosition& missed : trail.missed)
    furthest[static_cast<std::size_t>(missed.stopped_by)] = missed.tokens;
  for (std::size_t cause = static_cast<std::size_t>(LossCause::no_state); cause < num_loss_causes; ++cause) {
    const auto later = furthest.begin() + static_cast<std::ptrdiff_t>(cause) + 1;
    narrow(static_cast<LossCause>(cause), later == furthest.end() ? 0 : *std::max_element(later, furthest.end()));
  }
  loss.of(LossCause::no_memory) += trail.matched_tokens - loss.found_tokens;
  return loss;
}

void LossSeries::add(std::int64_t index, std::int64_t prompt_tokens, const ReuseLoss& loss) {
  while (index / part_requests_ >= static_cast<std::int64_t>(most_parts)) {
    part_requests_ *= 2;
    std::vector<Part> pairs((parts_.size() + 1) / 2);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      pairs[i / 2].requests += parts_[i].requests;
      pairs[i / 2].prompt_tokens += parts_[i].prompt_tokens;
      pairs[i / 2].loss += parts_[i].loss;
    }
    parts_ = std::move(pairs);
  }
  const auto part = static_cast<std::size_t>(index / part_requests_);
  if (parts_.size() <= part) parts_.resize(part + 1);
  ++parts_[part].requests;
  parts_[part].prompt_tokens += prompt_tokens;
  parts_[part].loss += loss;
}

void LossStats::add(std::int64_t index, std::int64_t tokens, const ReuseLoss& loss) {
  prompt_tokens += tokens;
  total += loss;
  series.add(index, tokens, loss);
}

}  // namespace hybridkv
