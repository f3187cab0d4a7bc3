#include "report/replay/upper_bounds.h"

#include <algorithm>

#include "report/field.h"

namespace hybridkv {

namespace {

using BoundField = Field<ReplayedCache>;

/// Share of a bound of layouts, or nothing.
template <auto Tokens>
Cell bound_rate(const ReplayedCache& cache) {
  return cache.bound ? Cell(Percent{100 * cache.bound->rate((*cache.bound).*Tokens)}) : Cell();
}

}  // namespace

bool has_bounds(const SimulateAnswer& answer) {
  return std::any_of(answer.caches.begin(), answer.caches.end(),
                     [](const ReplayedCache& cache) { return cache.bound.has_value(); });
}

Table upper_bounds_table(const SimulateAnswer& answer) {
  std::vector<BoundField> fields{
      {{"name", "cache", "", Align::left}, [](const ReplayedCache& cache) { return Cell(cache.name); }},
      {{"hit_tokens", "hit", "tokens"}, [](const ReplayedCache& cache) { return Cell(cache.counts().hit_tokens); }},
      {{"hit_rate", "hit", "rate"},
       [](const ReplayedCache& cache) { return Cell(Percent{100 * cache.counts().hit_rate()}); }}};
  if (has_bounds(answer)) {
    fields.push_back({{"feasible_rate", "possible", "at least"}, bound_rate<&LayoutBound::feasible_tokens>});
    fields.push_back({{"upper_rate", "no policy", "more than"}, bound_rate<&LayoutBound::upper_tokens>});
  }
  if (answer.caches.front().unlimited) {
    fields.push_back({{"unlimited_hit_tokens", "pool that never evicts", "tokens"},
                      [](const ReplayedCache& cache) { return Cell(cache.unlimited->hit_tokens); }});
    fields.push_back({{"unlimited_hit_rate", "", "rate"},
                      [](const ReplayedCache& cache) { return Cell(Percent{100 * cache.unlimited->hit_rate()}); }});
  }
  fields.push_back({{"token_exact_hit_tokens", "token by token", "tokens"},
                    [](const ReplayedCache& cache) { return Cell(*cache.token_exact_hit_tokens); }});
  fields.push_back({{"token_exact_hit_rate", "", "rate"}, [](const ReplayedCache& cache) {
                      return percent_of(*cache.token_exact_hit_tokens, cache.counts().taken_prompt_tokens);
                    }});
  return table_of(fields, answer.caches);
}

Cell feasible_cell(const ReplayedCache& cache) { return cache.bound ? Cell(cache.bound->feasible_tokens) : Cell(); }

Cell upper_cell(const ReplayedCache& cache) { return cache.bound ? Cell(cache.bound->upper_tokens) : Cell(); }

}  // namespace hybridkv
