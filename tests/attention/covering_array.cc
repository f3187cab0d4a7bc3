#include "tests/attention/covering_array.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace hybridkv::test {

namespace {

bool excluded(const Excludes& excludes, const Level& a, const Level& b) {
  return a.factor < b.factor ? excludes(a, b) : excludes(b, a);
}

/// A row under construction, and which pairs are still to be covered.
class Builder {
 public:
  Builder(const std::vector<Factor>& factors, const Excludes& excludes) : factors_(factors), excludes_(excludes) {}

  bool allows(const Level& level, const std::vector<Level>& chosen) const {
    return std::none_of(chosen.begin(), chosen.end(),
                        [&](const Level& other) { return excluded(excludes_, level, other); });
  }

  /// The values of a factor that nothing chosen excludes.
  std::vector<Level> allowed_levels(std::size_t factor, const std::vector<Level>& chosen) const {
    std::vector<Level> levels;
    for (std::size_t value = 0; value < factors_[factor].values.size(); ++value)
      if (allows({factor, value}, chosen)) levels.push_back({factor, value});
    expects(!levels.empty(), "what is chosen leaves every factor a value");
    return levels;
  }

 private:
  const std::vector<Factor>& factors_;
  const Excludes& excludes_;
};

Row row_of(std::vector<Level> chosen) {
  Row row(chosen.size());
  for (const Level& level : chosen) row[level.factor] = level.value;
  return row;
}

bool contains(const Row& row, const Pair& pair) {
  return row[pair.first.factor] == pair.first.value && row[pair.second.factor] == pair.second.value;
}

/// How many uncovered pairs a level completes with the levels chosen before.
std::int64_t gain(const std::vector<Pair>& uncovered, const Level& level, const std::vector<Level>& chosen) {
  return std::count_if(uncovered.begin(), uncovered.end(), [&](const Pair& pair) {
    const auto is_chosen = [&](const Level& other) {
      return std::find(chosen.begin(), chosen.end(), other) != chosen.end();
    };
    return (pair.first == level && is_chosen(pair.second)) || (pair.second == level && is_chosen(pair.first));
  });
}

}  // namespace

std::vector<Pair> allowed_pairs(const std::vector<Factor>& factors, const Excludes& excludes) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < factors.size(); ++a)
    for (std::size_t b = a + 1; b < factors.size(); ++b)
      for (std::size_t i = 0; i < factors[a].values.size(); ++i)
        for (std::size_t j = 0; j < factors[b].values.size(); ++j)
          if (!excludes({a, i}, {b, j})) pairs.push_back({{a, i}, {b, j}});
  return pairs;
}

std::vector<Pair> uncovered_pairs(const std::vector<Factor>& factors, const Excludes& excludes,
                                  const std::vector<Row>& rows) {
  std::vector<Pair> pairs = allowed_pairs(factors, excludes);
  for (const Row& row : rows) std::erase_if(pairs, [&](const Pair& pair) { return contains(row, pair); });
  return pairs;
}

Row random_row(const std::vector<Factor>& factors, const Excludes& excludes, std::mt19937_64& random) {
  const Builder builder(factors, excludes);
  std::vector<Level> chosen;
  for (std::size_t factor = 0; factor < factors.size(); ++factor) {
    const std::vector<Level> levels = builder.allowed_levels(factor, chosen);
    chosen.push_back(levels[random() % levels.size()]);
  }
  return row_of(std::move(chosen));
}

std::vector<Row> covering_rows(const std::vector<Factor>& factors, const Excludes& excludes, std::uint64_t seed) {
  const Builder builder(factors, excludes);
  std::mt19937_64 random(seed);
  std::vector<Pair> uncovered = allowed_pairs(factors, excludes);
  std::vector<Row> rows;
  while (!uncovered.empty()) {
    std::vector<Level> chosen{uncovered.front().first, uncovered.front().second};
    std::vector<std::size_t> order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    // Drawn by hand: std::shuffle may differ from library to library.
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::size_t factor : order) {
      if (factor == chosen[0].factor || factor == chosen[1].factor) continue;
      std::vector<Level> best;
      std::int64_t best_gain = -1;
      for (const Level& level : builder.allowed_levels(factor, chosen)) {
        const std::int64_t new_pairs = gain(uncovered, level, chosen);
        if (new_pairs > best_gain) best.clear();
        if (new_pairs >= best_gain) best.push_back(level);
        best_gain = std::max(best_gain, new_pairs);
      }
      chosen.push_back(best[random() % best.size()]);
    }
    rows.push_back(row_of(std::move(chosen)));
    std::erase_if(uncovered, [&](const Pair& pair) { return contains(rows.back(), pair); });
  }
  return rows;
}

}  // namespace hybridkv::test
