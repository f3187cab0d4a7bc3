#include "search/candidate_choice.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hybridkv;

namespace {

/// One that computes so many tokens again, with 10 requests at once.
Candidate candidate_of(std::int64_t again, bool harms) {
  Candidate candidate;
  candidate.harms_kernel = harms;
  candidate.objectives = {again, 1000, 10};
  return candidate;
}

std::vector<bool> passed_over(std::vector<Candidate> candidates) {
  keep_choices(candidates);
  std::vector<bool> passed;
  for (const Candidate& candidate : candidates) passed.push_back(candidate.passed_over);
  return passed;
}

}  // namespace

TEST_CASE("rule: what harms a kernel is passed over where another may be picked, and only there") {
  using Passed = std::vector<bool>;
  CHECK(passed_over({candidate_of(1, true), candidate_of(2, false)}) == Passed{true, false});
  CHECK(passed_over({candidate_of(1, true), candidate_of(2, true)}) == Passed{false, false});
  std::vector<Candidate> limited{candidate_of(1, true), candidate_of(2, false)};
  limited[1].meets_limits = false;  // the only harmless one is no choice
  CHECK(passed_over(limited) == Passed{false, false});
  limited[1] = candidate_of(2, false);
  limited[0].passed_over = limited[1].passed_over = true;  // said of other memory
  CHECK(passed_over(limited) == Passed{true, false});
}

TEST_CASE("rule: one that is passed over is on no front, and says nothing of how many requests are served") {
  std::vector<Candidate> candidates{candidate_of(1, true), candidate_of(2, false)};
  candidates[1].refused = 5;
  CHECK(candidates[1].unserved() > candidates[0].unserved());
  keep_choices(candidates);
  CHECK(eligible(candidates[1]));
  CHECK(front_of(candidates) == std::vector<std::size_t>{1});
}

TEST_CASE("rule: the heedless pick is that of a search without kernels") {
  Recommendation result;
  result.candidates = {candidate_of(1, true), candidate_of(2000, false)};
  const PickLimits limits{.rule = {}, .min_concurrency = std::nullopt, .prompt_tokens = 1000};
  CHECK(heedless_pick(result, limits) == 0);
  keep_choices(result.candidates);
  choose_pick(result, limits);
  CHECK(result.pick == 1);
}

TEST_CASE("rule: of a long front ends, pick and default are among those that stand for it") {
  Recommendation result;
  for (std::size_t i = 0; i < 100; ++i) result.front.push_back(i);
  result.pick = 37;
  result.default_candidate = 61;
  const std::vector<std::size_t> spread = spread_of_front(result, 10);
  CHECK(spread.size() <= 12);
  for (const std::size_t one : {0, 37, 61, 99}) CHECK(std::find(spread.begin(), spread.end(), one) != spread.end());
  CHECK(std::is_sorted(spread.begin(), spread.end()));
  CHECK(spread_of_front(result, 100) == result.front);
}
