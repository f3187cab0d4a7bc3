#include "ask/compare/compare_verdict.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

/// Two settings or more of one model by requests at once and, where a trace was replayed, by prompt tokens computed of
/// 100,000.
CompareAnswer settings_with(const std::vector<double>& at_once, const std::vector<std::int64_t>& prefilled = {}) {
  CompareAnswer comparison;
  const auto add = [&](const char* name, auto value_of, bool differs = false) {
    ComparedRow row{.name = name, .differs = differs};
    for (std::size_t i = 0; i < at_once.size(); ++i) row.values.emplace_back(value_of(i));
    comparison.rows.push_back(row);
  };
  for (std::size_t i = 0; i < at_once.size(); ++i) comparison.settings.push_back({.name = std::to_string(i)});
  add("model", [](std::size_t) { return std::string("one"); });
  add("release", [](std::size_t) { return std::string("vllm-0.33"); });
  add("max_model_len", [](std::size_t) { return std::int64_t{4096}; });
  add("usable_concurrency", [&](std::size_t i) { return at_once[i]; }, true);
  if (prefilled.empty()) return comparison;
  add("prompt_tokens", [](std::size_t) { return std::int64_t{100'000}; });
  add("prefilled_tokens", [&](std::size_t i) { return prefilled[i]; }, true);
  add("hit_rate_percent", [&](std::size_t i) { return 100 - static_cast<double>(prefilled[i]) / 1000; }, true);
  return comparison;
}

}  // namespace

TEST_CASE("rule: fewest tokens computed again, within half a per cent most requests at once") {
  const auto by_tokens = compare_verdict(settings_with({10, 20}, {1000, 1501}));
  REQUIRE(by_tokens.has_value());
  CHECK(by_tokens->taken.setting == 0);
  CHECK_FALSE(by_tokens->by_requests);
  const auto by_requests = compare_verdict(settings_with({10, 20}, {1000, 1500}));
  REQUIRE(by_requests.has_value());
  CHECK(by_requests->taken.setting == 1);
  CHECK(by_requests->next.setting == 0);
  CHECK(by_requests->by_requests);
  CHECK(*by_requests->taken.hit_percent == doctest::Approx(98.5));
  // The next one finds most of the others, however many it holds.
  CHECK(compare_verdict(settings_with({10, 40, 20}, {1000, 9000, 5000}))->next.setting == 2);
}

TEST_CASE("rule: a setting that harms a kernel is not the best as long as another harms none") {
  const auto harming = [](CompareAnswer comparison, std::vector<std::size_t> which) {
    for (const std::size_t i : which)
      comparison.settings[i].kernels = {{"k", i == 0 ? KernelVerdict::refuses : KernelVerdict::corrupts, {}}};
    return comparison;
  };
  const CompareAnswer plain = settings_with({10, 20, 15}), replayed = settings_with({10, 20, 15}, {5000, 1000, 3000});
  CHECK(compare_verdict(harming(plain, {1}))->taken.setting == 2);
  CHECK(compare_verdict(harming(plain, {1, 2}))->taken.setting == 0);
  CHECK(compare_verdict(harming(plain, {1, 2}))->next.setting == 1);
  CHECK(compare_verdict(harming(plain, {0, 1, 2}))->taken.setting == 1);
  CHECK(compare_verdict(harming(replayed, {1}))->taken.setting == 2);
  CHECK(compare_verdict(harming(replayed, {1}))->next.setting == 0);
  CHECK(compare_verdict(harming(replayed, {0, 1, 2}))->taken.setting == 1);
  CompareAnswer stale = plain;
  stale.settings[1].kernels = {{"k", KernelVerdict::stale, {}}};
  CHECK(compare_verdict(stale)->taken.setting == 1);
}

TEST_CASE("rule: without a replay it is the one that holds most requests") {
  const auto verdict = compare_verdict(settings_with({10, 20, 15}));
  REQUIRE(verdict.has_value());
  CHECK(verdict->taken.setting == 1);
  CHECK(verdict->next.setting == 2);
  CHECK_FALSE(verdict->taken.hit_percent.has_value());
}

TEST_CASE("rule: of settings that come to the same the first is taken, and the others are named") {
  const auto verdict = compare_verdict(settings_with({10, 10, 10, 12}, {9000, 1200, 1000, 5000}));
  REQUIRE(verdict.has_value());
  CHECK(verdict->taken.setting == 1);
  CHECK(verdict->same == std::vector<std::size_t>{2});
  CHECK(verdict->next.setting == 3);
}

TEST_CASE("edge: no verdict where all come to the same, one starts alone, or two questions are asked") {
  CHECK_FALSE(compare_verdict(settings_with({10, 10})).has_value());
  CHECK_FALSE(compare_verdict(settings_with({10, 10}, {1000, 1400})).has_value());
  CompareAnswer one_starts = settings_with({10, 20});
  one_starts.settings[0].refused = "too little memory";
  CHECK_FALSE(compare_verdict(one_starts).has_value());
  one_starts.settings[0].refused.clear();
  one_starts.settings[0].start_errors = {"no view"};
  CHECK_FALSE(compare_verdict(one_starts).has_value());
  for (const std::size_t row : {0, 1, 2}) {
    CompareAnswer other = settings_with({10, 20});
    other.rows[row].differs = true;
    CHECK_FALSE(compare_verdict(other).has_value());
  }
}
