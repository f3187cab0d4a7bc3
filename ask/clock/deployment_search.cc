#include "ask/clock/deployment_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "ask/fleet/fleet.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/parallel.h"
#include "search/candidate_choice.h"

namespace hybridkv {

namespace {

/// Settings of a front that are replayed by the clock, the pick of the search and the default aside.
constexpr std::size_t most_replayed = 10;

/// First tokens count as alike within this share, far below what a clock knows.
constexpr double alike_share = 0.01;

/// Rates are looked for among numbers of two digits, "1.0" to "9.9" times a power of ten, as far as a thousand times
/// up and down.
constexpr std::int64_t rates_of_a_decade = 90;
constexpr std::int64_t most_rate_index = 3 * rates_of_a_decade;

/// The number at that place, of which 0 is one.
double rate_at(std::int64_t index) {
  const std::int64_t decade = (index + most_rate_index) / rates_of_a_decade - most_rate_index / rates_of_a_decade;
  const auto digits = static_cast<double>(10 + index - decade * rates_of_a_decade);
  // A division by a power of ten gives the number nearest to what is printed, a product with 0.1 would not.
  return decade > 0 ? digits * std::pow(10.0, static_cast<double>(decade - 1))
                    : digits / std::pow(10.0, static_cast<double>(1 - decade));
}

/// The highest place of a rate that holds, from the middle outwards; nothing where none does.
std::optional<std::int64_t> highest_rate(const std::function<bool(std::int64_t)>& holds) {
  constexpr std::int64_t stride = rates_of_a_decade / 3;
  std::int64_t low = 0, high = 0;
  if (holds(0)) {
    do {
      low = high;
      high += stride;
    } while (high <= most_rate_index && holds(high));
  } else {
    do {
      high = low;
      low -= stride;
      if (low < -most_rate_index) return std::nullopt;
    } while (!holds(low));
  }
  return last_that(low, high, holds);
}

/// The question of a candidate as the command that repeats it has it: requests are refused by the longest length.
Scenario replayed_scenario(const RankSearch& search, std::size_t candidate) {
  Scenario scenario = scenario_of(search.asked.scenario, search.answer, candidate);
  scenario.limits.max_model_lens = {search.answer.result.max_model_len};
  return scenario;
}

TimedQuestion timed_at(const GpuChoiceQuestion& question, double rate, const ServiceLimits& limits) {
  TimedQuestion timed = question.timed;
  timed.served.gpus = 0;
  timed.rate = rate;
  timed.limits = limits;
  return timed;
}

double first_token(const Deployment& one) { return one.cached.first_token.mean(); }

/// The fleet behind each of its routers. Throws InputError for a router that the engine's caches tell nothing.
std::vector<RoutedFleet> routed_fleets(const SimulateQuestion& question) {
  try {
    return simulate_fleet(question, {}).caches.front().routers;
  } catch (const SpecError& error) {
    if (error.path() != "fleet.router") throw;
    throw InputError("--router: " + error.message());
  }
}

std::vector<RouterKind> routers_of(const Deployment& deployment) {
  if (!deployment.router) return {};
  return {*deployment.router};
}

}  // namespace

bool serves_better(const Deployment& a, const Deployment& b) {
  if (a.holds != b.holds) return a.holds;
  if (!a.holds && good_share(a.cached) != good_share(b.cached)) return good_share(a.cached) > good_share(b.cached);
  return first_token(a) < first_token(b);
}

DeploymentSearch::DeploymentSearch(const GpuChoiceQuestion& question, const RankSearch& search, std::size_t at)
    : question_(question), search_(search), at_(at), candidates_(spread_of_front(search.answer.result, most_replayed)) {
  const Recommendation& result = search.answer.result;
  const std::optional<std::size_t>& usual = result.default_candidate;
  if (usual && std::find(candidates_.begin(), candidates_.end(), *usual) == candidates_.end())
    candidates_.push_back(*usual);
  std::erase_if(candidates_, [&](std::size_t candidate) { return !result.layout_of(candidate).cache; });
  if (candidates_.empty())
    throw InputError("nothing that may be picked finds anything again, so there is no cache to replay; leave --gpu "
                     "out");
  // They stand in the order of the changes that they make.
  std::sort(candidates_.begin(), candidates_.end());
  Scenario scenario = replayed_scenario(search, candidates_.front());
  const AnyCache cache = planned_caches(scenario).front();
  timed_ = set_clock(scenario, cache, timed_at(question, question.timed.rate, question.timed.limits));
}

void DeploymentSearch::route(Deployment& deployment, const std::vector<AnyCache>& caches, const ServiceLimits& limits,
                             const std::vector<RouterKind>& routers) const {
  Scenario all = replayed_scenario(search_, deployment.candidate);
  const TimedAnswer timed = set_clock(all, caches.front(), timed_at(question_, deployment.rate, limits));
  all.simulate.fleet = {.replicas = deployment.replicas, .routers = routers};
  for (const RoutedFleet& routed : routed_fleets({all.simulate, caches, timed})) {
    Deployment behind = deployment;
    behind.router = routed.router.kind;
    behind.cached = *routed.result.times;
    behind.holds = keeps_limits(behind.cached, question_.good_share);
    if (!deployment.router || serves_better(behind, deployment)) deployment = std::move(behind);
  }
}

Deployment DeploymentSearch::replayed(std::size_t candidate, std::int64_t replicas, double rate,
                                      const ServiceLimits& limits, const std::vector<RouterKind>& routers) const {
  Deployment deployment{.search = at_, .candidate = candidate, .ranks = search_.ranks, .replicas = replicas,
                        .rate = rate, .router = {}, .cached = ServedTimes(), .uncached = ServedTimes()};
  Scenario scenario = replayed_scenario(search_, candidate);
  const std::vector<AnyCache> caches = planned_caches(scenario);
  const TimedAnswer timed =
      set_clock(scenario, caches.front(), timed_at(question_, deployment.rate_of_replica(), limits));
  const SimulateAnswer answer = simulate({scenario.simulate, caches, timed});
  deployment.cached = *answer.caches.front().times;
  deployment.uncached = *answer.caches.front().uncached;
  deployment.holds = keeps_limits(deployment.cached, question_.good_share);
  if (replicas > 1 && !routers.empty()) route(deployment, caches, limits, routers);
  return deployment;
}

Deployment DeploymentSearch::best(std::int64_t replicas, double rate) const {
  std::vector<Deployment> all(candidates_.size());
  parallel_for(candidates_.size(), [&](std::size_t i) {
    all[i] = replayed(candidates_[i], replicas, rate, question_.timed.limits, question_.routers);
  });
  const Deployment& fastest = *std::min_element(all.begin(), all.end(), serves_better);
  return *std::find_if(all.begin(), all.end(), [&](const Deployment& one) {
    return one.holds == fastest.holds && (one.holds || good_share(one.cached) == good_share(fastest.cached)) &&
           first_token(one) <= (1 + alike_share) * first_token(fastest);
  });
}

std::vector<Deployment> DeploymentSearch::fewest(const std::vector<std::int64_t>& replicas) const {
  std::vector<Deployment> tried;
  const auto fails = [&](std::int64_t at) {
    tried.push_back(best(replicas[static_cast<std::size_t>(at)], question_.timed.rate));
    return !tried.back().holds;
  };
  const std::int64_t last = std::ssize(replicas) - 1;
  // Where the most do not hold, neither do fewer.
  if (!fails(last) && last > 0 && fails(0)) last_that(0, last, fails);
  return tried;
}

Deployment DeploymentSearch::most_load(std::int64_t replicas) const {
  std::vector<std::size_t> order = candidates_;
  const auto any_holds = [&](std::int64_t index) {
    const double rate = question_.timed.rate * rate_at(index);
    const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t candidate) {
      return replayed(candidate, replicas, rate, question_.timed.limits, question_.routers).holds;
    });
    if (found == order.end()) return false;
    // What holds at one rate is asked first at the next.
    std::rotate(order.begin(), found, std::next(found));
    return true;
  };
  return best(replicas, question_.timed.rate * rate_at(highest_rate(any_holds).value_or(0)));
}

double DeploymentSearch::most_rate(const Deployment& deployment) const {
  const std::optional<std::int64_t> index = highest_rate([&](std::int64_t at) {
    return at == 0 || replayed(deployment.candidate, deployment.replicas, deployment.rate * rate_at(at),
                               question_.timed.limits, routers_of(deployment)).holds;
  });
  return deployment.rate * rate_at(index.value());
}

double DeploymentSearch::share_if_slower(const Deployment& deployment) const {
  const ClockError& error = timed_.served.source.error();
  ServiceLimits nearer = question_.timed.limits;
  nearer.first_token /= 1 + error.first_token_median / 100;
  nearer.output_token /= 1 + error.output_token_median / 100;
  return good_share(
      replayed(deployment.candidate, deployment.replicas, deployment.rate, nearer, routers_of(deployment)).cached);
}

}  // namespace hybridkv
