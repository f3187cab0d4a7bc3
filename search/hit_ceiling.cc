#include "search/hit_ceiling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hybridkv {

namespace {

/// One evaluation of U and of its subgradient.
class Evaluation {
 public:
  Evaluation(const ReusePaths& paths, const CacheSizes& sizes) : paths_(paths), sizes_(sizes) {
    sums_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, paths.num_requests())));
  }

  /// U of the prices; with `kept`, bytes that the choice keeps over each gap.
  double at(const std::vector<double>& price, PricedChoice* choice, std::vector<double>* kept) {
    for (std::size_t gap = 0; gap < price.size(); ++gap) sums_[gap + 1] = sums_[gap] + price[gap];
    double bound = static_cast<double>(sizes_.memory_bytes) * sums_.back();
    if (choice != nullptr) choice->units.assign(static_cast<std::size_t>(paths_.num_requests()), 0);
    if (kept != nullptr) kept->assign(price.size() + 1, 0);
    for (std::int64_t request = 0; request < paths_.num_requests(); ++request) {
      const Best best = best_of(request);
      bound += best.gain;
      if (choice != nullptr) choice->units[static_cast<std::size_t>(request)] = best.units;
      if (kept != nullptr && best.units > 0) add(*kept, request, best.units);
    }
    if (kept != nullptr) {
      for (std::size_t gap = 1; gap < kept->size(); ++gap) (*kept)[gap] += (*kept)[gap - 1];
      kept->pop_back();
    }
    return bound;
  }

 private:
  struct Best {
    double gain = 0;
    std::int32_t units = 0;
  };

  /// Within a stretch the gain is linear in the units, so only its ends are looked at.
  Best best_of(std::int64_t request) const {
    const double now = sums_[static_cast<std::size_t>(request)];
    const auto unit_tokens = static_cast<double>(paths_.unit_tokens());
    const auto most = static_cast<std::int32_t>(paths_.most_units(request));
    Best best;
    double keys = 0;  // cost of K and V up to the stretch
    std::int32_t begin = 0;
    for (const ReuseStretch& stretch : paths_.stretches(request)) {
      const std::int32_t end = std::min(stretch.end_unit, most);
      if (end <= begin) break;
      const double held = now - sums_[static_cast<std::size_t>(stretch.last)];
      const double state = static_cast<double>(sizes_.state_bytes) * held;
      const double unit = static_cast<double>(sizes_.unit_bytes) * held;
      const auto consider = [&](std::int32_t units) {
        const double gain = unit_tokens * units - state - keys - unit * (units - begin);
        if (gain > best.gain) best = {gain, units};
      };
      consider(begin + 1);
      consider(end);
      keys += unit * (end - begin);
      begin = end;
    }
    return best;
  }

  void add(std::vector<double>& kept, std::int64_t request, std::int32_t units) const {
    std::int32_t begin = 0;
    for (const ReuseStretch& stretch : paths_.stretches(request)) {
      const std::int32_t end = std::min(stretch.end_unit, units);
      double bytes = static_cast<double>(sizes_.unit_bytes) * (end - begin);
      if (end == units) bytes += static_cast<double>(sizes_.state_bytes);
      kept[static_cast<std::size_t>(stretch.last)] += bytes;
      kept[static_cast<std::size_t>(request)] -= bytes;
      if (end == units) return;
      begin = end;
    }
  }

  const ReusePaths& paths_;
  const CacheSizes& sizes_;
  std::vector<double> sums_;  // L, by request
};

/// The same prices for the gaps of a stretch of the trace.
class CoarsePrices {
 public:
  CoarsePrices(std::size_t gaps, std::size_t pieces) : gaps_(gaps), pieces_(std::min(pieces, gaps)) {}
  std::size_t pieces() const { return pieces_; }
  std::size_t piece_of(std::size_t gap) const { return gap * pieces_ / gaps_; }
  std::vector<double> spread(const std::vector<double>& of_pieces) const {
    std::vector<double> price(gaps_);
    for (std::size_t gap = 0; gap < gaps_; ++gap) price[gap] = of_pieces[piece_of(gap)];
    return price;
  }
  /// Means of fine values.
  std::vector<double> gather(const std::vector<double>& price) const {
    std::vector<double> sums(pieces_, 0);
    std::vector<double> counts(pieces_, 0);
    for (std::size_t gap = 0; gap < gaps_; ++gap) {
      sums[piece_of(gap)] += price[gap];
      counts[piece_of(gap)] += 1;
    }
    for (std::size_t piece = 0; piece < pieces_; ++piece) sums[piece] /= counts[piece];
    return sums;
  }

 private:
  std::size_t gaps_;
  std::size_t pieces_;
};

class PriceDescent {
 public:
  PriceDescent(const ReusePaths& paths, const CacheSizes& sizes)
      : sizes_(sizes), evaluation_(paths, sizes),
        gaps_(static_cast<std::size_t>(std::max<std::int64_t>(0, paths.num_requests() - 1))) {
    best_.price.assign(gaps_, 0);
    best_.tokens = evaluate(best_.price);  // without prices: endless memory
  }

  HitCeiling run(int rounds) {
    if (gaps_ > 0) {
      const double constant = best_constant();
      step_ = constant;
      for (std::size_t pieces = 2; constant > 0; pieces *= 2) {
        descend(CoarsePrices(gaps_, pieces), rounds);
        if (pieces >= gaps_ || pieces >= most_pieces) break;
      }
    }
    evaluation_.at(best_.price, &best_.choice, nullptr);
    return std::move(best_);
  }

 private:
  static constexpr std::size_t most_pieces = 2048;

  double evaluate(const std::vector<double>& price, std::vector<double>* kept = nullptr) {
    ++best_.evaluations;
    return evaluation_.at(price, nullptr, kept);
  }

  void consider(double bound, const std::vector<double>& price) {
    if (bound >= best_.tokens) return;
    best_.tokens = bound;
    best_.price = price;
  }

  /// The least bound with one price: its slope, memory less mean bytes kept, grows with the price.
  double best_constant() {
    std::vector<double> kept;
    const auto slope = [&](double price) {
      const std::vector<double> all(gaps_, price);
      consider(evaluate(all, &kept), all);
      double sum = 0;
      for (const double bytes : kept) sum += static_cast<double>(sizes_.memory_bytes) - bytes;
      return sum;
    };
    if (slope(0) >= 0) return 0;  // everything can be kept
    double low = 0, high = 1e-12;
    while (slope(high) < 0 && high < 1e6) high *= 4;
    for (int i = 0; i < 60 && high - low > 1e-4 * high; ++i) {
      const double middle = (low + high) / 2;
      (slope(middle) < 0 ? low : high) = middle;
    }
    return high;
  }

  /// Subgradient steps that shrink, each price by the steepness it has seen (Adagrad), from the best prices so far.
  void descend(const CoarsePrices& coarse, int rounds) {
    std::vector<double> of_pieces = coarse.gather(best_.price), steepness(coarse.pieces(), 0), kept;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<double> price = coarse.spread(of_pieces);
      consider(evaluate(price, &kept), price);
      for (double& bytes : kept) bytes = (static_cast<double>(sizes_.memory_bytes) - bytes) /
                                         static_cast<double>(sizes_.memory_bytes);
      const std::vector<double> slope = coarse.gather(kept);
      for (std::size_t piece = 0; piece < slope.size(); ++piece) {
        steepness[piece] += slope[piece] * slope[piece];
        if (steepness[piece] == 0) continue;
        of_pieces[piece] =
            std::max(0.0, of_pieces[piece] - step_ * 0.3 * slope[piece] / std::sqrt(steepness[piece]));
      }
    }
    step_ *= 0.8;
  }

  const CacheSizes& sizes_;
  Evaluation evaluation_;
  std::size_t gaps_;
  HitCeiling best_;
  double step_ = 0;
};

}  // namespace

double hit_bound(const ReusePaths& paths, const CacheSizes& sizes, const std::vector<double>& price,
                 PricedChoice* choice) {
  expects(std::ssize(price) == std::max<std::int64_t>(0, paths.num_requests() - 1), "a price for every gap");
  return Evaluation(paths, sizes).at(price, choice, nullptr);
}

HitCeiling hit_ceiling(const ReusePaths& paths, const CacheSizes& sizes, int rounds) {
  return PriceDescent(paths, sizes).run(rounds);
}

}  // namespace hybridkv
