#include "ask/clock/gpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "ask/clock/deployment_search.h"
#include "ask/recommend_commands.h"
#include "base/error.h"

namespace hybridkv {

namespace {

/// Numbers of replicas that make one of the numbers of GPUs.
std::vector<std::int64_t> replicas_of(const std::vector<std::int64_t>& gpus, std::int64_t ranks) {
  std::vector<std::int64_t> replicas;
  for (const std::int64_t number : gpus)
    if (number % ranks == 0) replicas.push_back(number / ranks);
  return replicas;
}

/// The refusal of all where it is one and the same, else a line each.
[[noreturn]] void refuse_all(const std::vector<RefusedRanks>& refused) {
  const std::string& first = refused.front().why;
  if (std::all_of(refused.begin(), refused.end(), [&](const RefusedRanks& one) { return one.why == first; }))
    throw InputError(first);
  std::string text = "no number of ranks serves this model:";
  for (const RefusedRanks& one : refused) text += fmt::format("\n  {}: {}", one.ranks, one.why);
  throw InputError(text);
}

/// Does a take fewer GPUs than b, or of a single number more load, or of as much serve the first token faster?
bool is_better(const Deployment& a, const Deployment& b, bool most_load) {
  if (most_load && a.rate != b.rate) return a.rate > b.rate;
  if (a.gpus() != b.gpus()) return a.gpus() < b.gpus();
  return a.cached.first_token.mean() < b.cached.first_token.mean();
}

void choose(GpuChoice& answer) {
  std::stable_sort(answer.tried.begin(), answer.tried.end(), [](const Deployment& a, const Deployment& b) {
    return std::pair(a.gpus(), a.ranks) < std::pair(b.gpus(), b.ranks);
  });
  for (std::size_t i = 0; i < answer.tried.size(); ++i)
    if (answer.tried[i].holds &&
        (!answer.pick || is_better(answer.tried[i], answer.tried[*answer.pick], answer.asks_most_load())))
      answer.pick = i;
}

/// The commands of a replica; the last one, which replays, by the clock.
std::vector<std::string> replica_commands(const RankSearch& search, const Deployment& deployment) {
  CommandWords words = search.asked.words;
  const double rate = deployment.router ? deployment.rate : deployment.rate_of_replica();
  if (deployment.router) {
    words.replay.push_back({"--replicas", std::to_string(deployment.replicas)});
    words.replay.push_back({"--router", std::string(to_string(*deployment.router))});
  }
  if (rate != 1) words.replay.push_back({"--rate", fmt::format("{}x", rate)});
  return candidate_commands(words, search.asked.scenario, search.answer, deployment.candidate);
}

}  // namespace

std::optional<std::size_t> choice_to_take(std::span<const EngineGpuChoice> engines) {
  std::optional<std::size_t> taken;
  const auto pick = [&](std::size_t i) -> const Deployment& {
    return engines[i].answer->tried[*engines[i].answer->pick];
  };
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (engines[i].answer && engines[i].answer->pick &&
        (!taken || is_better(pick(i), pick(*taken), engines[i].answer->asks_most_load())))
      taken = i;
  return taken;
}

GpuChoice choose_gpus(const GpuChoiceQuestion& question,
                      const std::function<void(const RecommendProgress&)>& progress) {
  GpuChoice answer{.timed = {}, .gpus = question.gpus, .good_share = question.good_share, .searches = {},
                   .refused = {}, .tried = {}, .pick = {}, .most_rate = {}, .commands = {}};
  if (!question.timed.limits.any())
    throw InputError("--gpu: say what has to be kept on it, --ttft 1s or --tpot 40ms, or both");
  bool closed_loop = false;
  for (const std::int64_t ranks : question.ranks) {
    if (replicas_of(question.gpus, ranks).empty()) continue;
    try {
      RankedScenario asked = question.scenario_on(ranks);
      closed_loop = asked.scenario.simulate.driver.kind == DriverKind::closed_loop;
      if (closed_loop) break;
      RecommendAnswer found = recommend_scenario(asked.scenario, asked.settings, progress);
      answer.searches.push_back({ranks, std::move(asked), std::move(found)});
    } catch (const InputError& error) {
      answer.refused.push_back({ranks, error.what()});
    }
  }
  if (closed_loop)
    throw InputError("--gpu: GPUs are chosen for requests that come by the times of the trace; leave --driver out");
  if (answer.searches.empty() && answer.refused.empty())
    throw InputError(fmt::format("--gpus: none of these numbers is a multiple of the {} ranks of a replica (--tp)",
                                 question.ranks.front()));
  if (answer.searches.empty()) refuse_all(answer.refused);
  std::deque<DeploymentSearch> by_ranks;
  for (std::size_t at = 0; at < answer.searches.size(); ++at) {
    const RankSearch& search = answer.searches[at];
    const DeploymentSearch& deployments = by_ranks.emplace_back(question, search, at);
    if (progress) progress({"by the clock", static_cast<std::int64_t>(at), std::ssize(answer.searches)});
    const std::vector<std::int64_t> replicas = replicas_of(question.gpus, search.ranks);
    if (answer.asks_most_load()) answer.tried.push_back(deployments.most_load(replicas.front()));
    else for (Deployment& tried : deployments.fewest(replicas)) answer.tried.push_back(std::move(tried));
    if (answer.tried.front().cached.offered() == 0)
      throw InputError("--gpu: all requests of this trace come at once, so there is no load that GPUs could be chosen "
                       "for; give a trace with times by --trace");
  }
  answer.timed = by_ranks.front().timed();
  choose(answer);
  if (!answer.pick) return answer;
  const Deployment& pick = answer.tried[*answer.pick];
  const DeploymentSearch& deployments = by_ranks[pick.search];
  answer.timed = deployments.timed();
  if (!answer.asks_most_load()) answer.most_rate = deployments.most_rate(pick);
  answer.share_if_slower = deployments.share_if_slower(pick);
  answer.commands = replica_commands(answer.search_of(pick), pick);
  return answer;
}

}  // namespace hybridkv
