#include "search/candidate_choice.h"

#include <algorithm>
#include <limits>

namespace hybridkv {

namespace {

/// The concurrency that a pick has to hold among candidates, whose reference `result` names.
double least_concurrency(const Recommendation& result, const std::vector<Candidate>& candidates,
                         const PickLimits& limits) {
  return limits.least_of(
      result.reference_candidate ? candidates[*result.reference_candidate].objectives.concurrency : 0);
}

void add_what_if_of(Recommendation& result, Assumption assumption, double value, const std::vector<Candidate>& changed,
                    double least, const PickLimits& limits) {
  WhatIf what_if{.assumption = assumption, .value = value};
  if (std::any_of(changed.begin(), changed.end(), eligible)) {
    what_if.pick = pick_from(changed, front_of(changed), least, limits);
    what_if.objectives = changed[*what_if.pick].objectives;
    what_if.stated_pick = changed[result.pick].objectives;
  }
  result.what_ifs.push_back(what_if);
}

}  // namespace

void drop_unserving(std::vector<Candidate>& candidates) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& candidate : candidates)
    if (eligible(candidate)) fewest = std::min(fewest, candidate.unserved());
  for (Candidate& candidate : candidates)
    if (candidate.unserved() > fewest) candidate.meets_limits = false;
}

void keep_choices(std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) candidate.passed_over = false;
  const bool any_harmless = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
    return eligible(candidate) && !candidate.harms_kernel;
  });
  if (any_harmless)
    for (Candidate& candidate : candidates) candidate.passed_over = candidate.harms_kernel;
  drop_unserving(candidates);
}

std::vector<std::size_t> front_of(const std::vector<Candidate>& candidates,
                                  const std::function<bool(const Candidate&)>& wanted) {
  std::vector<std::size_t> positions;
  std::vector<Objectives> points;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!eligible(candidates[i]) || (wanted && !wanted(candidates[i]))) continue;
    positions.push_back(i);
    points.push_back(candidates[i].objectives);
  }
  std::vector<std::size_t> front = pareto_front(points);
  for (std::size_t& at : front) at = positions[at];
  return front;
}

std::size_t pick_from(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& front, double least,
                      const PickLimits& limits) {
  std::vector<PickPoint> points;
  for (const std::size_t at : front) points.push_back({candidates[at].objectives, candidates[at].settings_changed});
  return front[pick_of(points, least, limits.prompt_tokens, limits.rule)];
}

std::size_t heedless_pick(const Recommendation& result, const PickLimits& limits) {
  std::vector<Candidate> candidates = result.candidates;
  drop_unserving(candidates);
  return pick_from(candidates, front_of(candidates), least_concurrency(result, candidates, limits), limits);
}

void choose_pick(Recommendation& result, const PickLimits& limits) {
  std::vector<Candidate>& candidates = result.candidates;
  result.front = front_of(candidates);
  for (const std::size_t at : result.front) candidates[at].on_front = true;
  result.least_concurrency = least_concurrency(result, candidates, limits);
  result.pick = pick_from(candidates, result.front, result.least_concurrency, limits);
  std::stable_sort(result.front.begin(), result.front.end(), [&](std::size_t a, std::size_t b) {
    return candidates[a].objectives.reprefilled_tokens < candidates[b].objectives.reprefilled_tokens;
  });
}

std::vector<std::size_t> spread_of_front(const Recommendation& result, std::size_t most) {
  const std::vector<std::size_t>& front = result.front;
  if (front.size() <= most) return front;
  std::vector<std::size_t> spread;
  const std::size_t steps = most - 1;
  for (std::size_t i = 0; i < front.size(); ++i) {
    const bool on_grid = (i * steps) % (front.size() - 1) < steps || i == front.size() - 1;
    if (on_grid || front[i] == result.pick || front[i] == result.default_candidate) spread.push_back(front[i]);
  }
  return spread;
}

void add_what_if(Recommendation& result, Assumption assumption, double value, const std::vector<Candidate>& changed,
                 const PickLimits& limits) {
  add_what_if_of(result, assumption, value, changed, least_concurrency(result, changed, limits), limits);
}

void add_plain_what_ifs(Recommendation& result, const PickLimits& limits) {
  const double most = result.candidates[result.pick].objectives.concurrency;
  std::vector<Candidate> more = result.candidates;
  for (Candidate& candidate : more)
    candidate.meets_limits = candidate.meets_limits && candidate.objectives.concurrency > most;
  keep_choices(more);
  add_what_if_of(result, Assumption::concurrency, most, more, most, limits);
  std::vector<Candidate> unlike = result.candidates;
  for (Candidate& candidate : unlike) candidate.objectives.reprefilled_tokens = 0;
  add_what_if(result, Assumption::no_reuse, 0, unlike, limits);
}

}  // namespace hybridkv
