#include "search/checkpoint_positions.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace hybridkv {

namespace {

/// What positions save: one at depth i with the next one behind it at depth j saves depth i for all from i to before j.
class BestSavings {
 public:
  explicit BestSavings(std::span<const SharedDepth> depths) : depths_(depths), weights_(1, 0) {
    for (const SharedDepth& one : depths) weights_.push_back(weights_.back() + one.weight);
  }

  std::vector<std::int64_t> positions(std::int64_t most) {
    const std::size_t count = depths_.size();
    saved_.assign(count + 1, 0);
    for (std::int64_t left = std::min<std::int64_t>(most, std::ssize(depths_)); left > 0; --left) {
      better_.assign(count + 1, 0);
      choices_.emplace_back(count, count);
      solve(0, count, 0, count);
      if (better_[0] <= saved_[0]) {
        choices_.pop_back();
        break;
      }
      saved_ = better_;
    }
    std::vector<std::int64_t> found;
    std::size_t from = 0;
    for (auto choice = choices_.rbegin(); choice != choices_.rend() && from < count; ++choice) {
      const std::size_t at = (*choice)[from];
      if (at == count) break;
      found.push_back(depths_[at].depth);
      from = at + 1;
    }
    return found;
  }

 private:
  /// Of a first position at i among those from `from` on, with the best of one position fewer behind it. Positions
  /// behind i take over their own and later ones, so they save their distance from i.
  double of(std::size_t from, std::size_t i) const {
    const double before = from == 0 ? 0 : static_cast<double>(depths_[from - 1].depth);
    return (weights_.back() - weights_[i]) * (static_cast<double>(depths_[i].depth) - before) + saved_[i + 1];
  }

  /// better_[from] for every from in [begin, end), whose best first position lies in [low, high].
  void solve(std::size_t begin, std::size_t end, std::size_t low, std::size_t high) {
    if (begin >= end) return;
    const std::size_t middle = begin + (end - begin) / 2, count = depths_.size();
    std::size_t best = count;  // none
    double most = 0;
    for (std::size_t i = std::max(middle, low); i < std::min(high + 1, count); ++i)
      if (const double saved = of(middle, i); saved > most) {
        most = saved;
        best = i;
      }
    better_[middle] = most;
    choices_.back()[middle] = best;
    solve(begin, middle, low, best == count ? high : best);
    solve(middle + 1, end, best == count ? low : best, high);
  }

  std::span<const SharedDepth> depths_;
  std::vector<double> weights_;                   // prefix sums
  std::vector<double> saved_, better_;            // (first depth that may be chosen)
  std::vector<std::vector<std::size_t>> choices_; // (positions left - 1, first depth that may be chosen)
};

}  // namespace

double recomputed_units(std::span<const SharedDepth> depths, std::span<const std::int64_t> positions) {
  double sum = 0;
  for (const SharedDepth& one : depths) {
    const auto behind = std::upper_bound(positions.begin(), positions.end(), one.depth);
    const std::int64_t kept = behind == positions.begin() ? 0 : *(behind - 1);
    sum += one.weight * static_cast<double>(one.depth - kept);
  }
  return sum;
}

CheckpointPositions best_positions(std::span<const SharedDepth> depths, std::int64_t most) {
  expects(most >= 0, "a number of positions is not negative");
  expects(std::is_sorted(depths.begin(), depths.end(),
                         [](const SharedDepth& a, const SharedDepth& b) { return a.depth < b.depth; }),
          "depths ascend");
  CheckpointPositions best{.positions = BestSavings(depths).positions(most)};
  best.recomputed = recomputed_units(depths, best.positions);
  return best;
}

}  // namespace hybridkv
