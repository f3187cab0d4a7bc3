#include "report/replay/upper_bounds.h"

#include <algorithm>

#include "report/field.h"

namespace hybridkv {

namespace {

/// Share of a bound of layouts, or nothing.
auto bound_rate(std::int64_t LayoutBound::*tokens) {
  return where([](const ReplayedCache& cache) { return cache.bound.has_value(); },
               [=](const ReplayedCache& cache) { return Percent{100 * cache.bound->rate((*cache.bound).*tokens)}; });
}

}  // namespace

bool has_bounds(const SimulateAnswer& answer) {
  return std::any_of(answer.caches.begin(), answer.caches.end(),
                     [](const ReplayedCache& cache) { return cache.bound.has_value(); });
}

Table upper_bounds_table(const SimulateAnswer& answer) {
  using Row = ReplayedCache;
  const bool bounded = has_bounds(answer), endless = answer.caches.front().unlimited.has_value();
  return table_of<Row>(
      {{{"name", "cache"}, &Row::name},
       {{"hit_tokens", "hit", "tokens"}, [](const Row& row) { return row.counts().hit_tokens; }},
       {{"hit_rate", "hit", "rate"}, [](const Row& row) { return Percent{100 * row.counts().hit_rate()}; }},
       {{"feasible_rate", "possible", "at least"}, bound_rate(&LayoutBound::feasible_tokens), bounded},
       {{"upper_rate", "no policy", "more than"}, bound_rate(&LayoutBound::upper_tokens), bounded},
       {{"unlimited_hit_tokens", "pool that never evicts", "tokens"},
        [](const Row& row) { return row.unlimited->hit_tokens; }, endless},
       {{"unlimited_hit_rate", "", "rate"},
        [](const Row& row) { return Percent{100 * row.unlimited->hit_rate()}; }, endless},
       {{"token_exact_hit_tokens", "token by token", "tokens"}, &Row::token_exact_hit_tokens},
       {{"token_exact_hit_rate", "", "rate"},
        [](const Row& row) { return percent_of(*row.token_exact_hit_tokens, row.counts().taken_prompt_tokens); }}},
      answer.caches);
}

Cell feasible_cell(const ReplayedCache& cache) { return cache.bound ? Cell(cache.bound->feasible_tokens) : Cell(); }

Cell upper_cell(const ReplayedCache& cache) { return cache.bound ? Cell(cache.bound->upper_tokens) : Cell(); }

}  // namespace hybridkv
