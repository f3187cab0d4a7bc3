#include "ask/compare/compare_verdict.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "ask/same_hits.h"

namespace hybridkv {

namespace {

const ComparedRow* row_named(const CompareAnswer& comparison, std::string_view name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.name == name; });
  return found == comparison.rows.end() ? nullptr : &*found;
}

std::optional<double> number_in(const CompareAnswer& comparison, std::string_view name, std::size_t setting) {
  const ComparedRow* const row = row_named(comparison, name);
  if (row == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&row->values[setting])) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&row->values[setting])) return *real;
  return std::nullopt;
}

bool differs(const CompareAnswer& comparison, std::string_view name) {
  const ComparedRow* const row = row_named(comparison, name);
  return row == nullptr || row->differs;
}

std::vector<WeighedSetting> weighed(const CompareAnswer& comparison) {
  std::vector<WeighedSetting> settings;
  for (std::size_t i = 0; i < comparison.settings.size(); ++i) {
    const std::optional<double> concurrency = number_in(comparison, "usable_concurrency", i);
    if (!comparison.settings[i].refused.empty() || !comparison.settings[i].start_errors.empty() || !concurrency)
      continue;
    settings.push_back({i, *concurrency, number_in(comparison, "prefilled_tokens", i),
                        number_in(comparison, "hit_rate_percent", i), harms_kernel(comparison.settings[i].kernels)});
  }
  return settings;
}

}  // namespace

std::optional<CompareVerdict> compare_verdict(const CompareAnswer& comparison) {
  std::vector<WeighedSetting> settings = weighed(comparison);
  const bool is_one_question =
      !differs(comparison, "model") && !differs(comparison, "max_model_len") && !differs(comparison, "release");
  if (settings.size() < 2 || !is_one_question) return std::nullopt;
  const std::optional<double> prompts = number_in(comparison, "prompt_tokens", settings.front().setting);
  const bool replayed = prompts && std::all_of(settings.begin(), settings.end(), [](const WeighedSetting& one) {
                          return one.prefilled && one.hit_percent;
                        });
  if (!replayed)
    for (WeighedSetting& one : settings) one.prefilled = one.hit_percent = std::nullopt;
  const bool any_harmless = std::any_of(settings.begin(), settings.end(),
                                        [](const WeighedSetting& one) { return !one.harms_kernel; });
  const auto is_passed_over = [&](const WeighedSetting& one) { return any_harmless && one.harms_kernel; };
  const double fewest =
      replayed ? *std::min_element(settings.begin(), settings.end(), [&](const auto& a, const auto& b) {
                    return std::pair(is_passed_over(a), *a.prefilled) < std::pair(is_passed_over(b), *b.prefilled);
                  })->prefilled
               : 0;
  const auto finds_most = [&](const WeighedSetting& one) {
    return !is_passed_over(one) && (!replayed || finds_the_same(*one.prefilled, fewest, *prompts));
  };
  // Those that find most come first, of these the one that holds most; those that are passed over come last.
  std::stable_sort(settings.begin(), settings.end(), [&](const WeighedSetting& a, const WeighedSetting& b) {
    const bool first = finds_most(a), second = finds_most(b);
    if (first != second) return first;
    if (is_passed_over(a) != is_passed_over(b)) return is_passed_over(b);
    if (first || !replayed) return a.concurrency > b.concurrency;
    return *a.prefilled < *b.prefilled;
  });
  CompareVerdict verdict{.taken = settings.front()};
  for (const WeighedSetting& one : settings) {
    if (!finds_most(one) || one.concurrency != verdict.taken.concurrency) {
      verdict.next = one;
      verdict.by_requests = finds_most(one);
      return verdict;
    }
    if (one.setting != verdict.taken.setting) verdict.same.push_back(one.setting);
  }
  return std::nullopt;
}

}  // namespace hybridkv
