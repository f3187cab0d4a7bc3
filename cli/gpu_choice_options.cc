#include "cli/gpu_choice_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/values.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

constexpr const char* usual_gpus = "1..16";
constexpr std::int64_t most_gpus = 4096;
/// Ranks of a replica are powers of two up to this: what a node has, and what heads divide into.
constexpr std::int64_t most_ranks = 16;

/// "1..16", "1..64 step 8", "8", "4,8,12": ascending, each once.
std::vector<std::int64_t> gpu_numbers(const std::string& text) {
  std::set<std::int64_t> numbers;
  const auto refuse = [&](const std::string& problem) {
    throw InputError(fmt::format("--gpus {}: {}; write it like 8, 1..16 or 4,8,16", text, problem));
  };
  for (const std::string& item : split_list("--gpus", text)) {
    if (is_range(item)) {
      const ParsedRange range = parse_range(item);
      if (!range.problem.empty()) refuse(range.problem);
      numbers.insert(range.values.begin(), range.values.end());
      continue;
    }
    const ParsedNumber number = parse_integer(item);
    if (!number.problem.empty()) refuse(number.problem);
    numbers.insert(number.value);
  }
  if (*numbers.begin() < 1 || *numbers.rbegin() > most_gpus) refuse(fmt::format("GPUs are 1 to {}", most_gpus));
  return {numbers.begin(), numbers.end()};
}

double good_share_of(const std::string& text) {
  if (text.empty()) return usual_good_share;
  const bool has_unit = text.ends_with('%');
  const ParsedReal share = parse_real(has_unit ? text.substr(0, text.size() - 1) : text);
  if (!share.problem.empty() || !(share.value > 0 && share.value <= 100))
    throw InputError(fmt::format("--good-share {}: is a share of the requests in percent, above 0 and at most 100; "
                                 "write it like 99 or 99.9%", text));
  return share.value / 100;
}

/// Does the question say how many ranks there are? With the memory of a rank it does.
bool says_ranks(const ScenarioOptions& options) {
  return !options.tensor_parallel.empty() || says_memory(options) ||
         std::any_of(options.overrides.begin(), options.overrides.end(), [](const std::string& assignment) {
           return assignment.starts_with("engine.tensor_parallel=");
         });
}

/// The words that name the scenario of so many ranks again, with the clock that it goes by.
CommandWords timed_words(const ScenarioOptions& options, const SimpleTraffic& traffic, const GpuChoiceOptions& asked,
                         const Scenario& scenario) {
  CommandWords words = replayed_words(options, traffic);
  if (!says_memory(options)) words.value_of("engine.memory") = std::to_string(scenario.engine.memory_bytes);
  const ClockOptions& clock = asked.clock;
  for (const auto& [flag, value] : {std::pair{"--gpu", clock.gpu}, std::pair{"--clock", clock.clock},
                                    std::pair{"--ttft", clock.ttft}, std::pair{"--tpot", clock.tpot},
                                    std::pair{"--price", clock.price}})
    if (!value.empty()) words.replay.push_back({flag, value});
  return words;
}

}  // namespace

void add_gpu_choice_options(CLI::App& command, GpuChoiceOptions& options) {
  add_gpu_options(command, options.clock);
  command.add_option("--gpus", options.gpus,
                     fmt::format("how many there may be: the fewest that keep the limits are taken; of a single number "
                                 "the most load within them (default: {})", usual_gpus))
      ->type_name("LIST");
  add_service_options(command, options.clock, "requests come so many times as fast: 2x");
  add_price_option(command, options.clock);
  command.add_option("--good-share", options.good_share,
                     fmt::format("share of the requests that has to keep the limits (default: {:g})",
                                 100 * usual_good_share))
      ->type_name("PERCENT");
  add_list(command, "--router", options.routers,
           "before several replicas: the best of these (default: each has its share of the requests)", "NAMES",
           one_of(names_of(router_kind_names)));
}

bool chooses_gpus(const GpuChoiceOptions& options) {
  if (timed_question(options.clock)) return true;
  for (const auto& [flag, given] : {std::pair{"--gpus", !options.gpus.empty()},
                                    std::pair{"--good-share", !options.good_share.empty()},
                                    std::pair{"--router", !options.routers.empty()}})
    if (given) throw InputError(fmt::format("{} belongs to a choice of GPUs; say which by --gpu NAME", flag));
  return false;
}

GpuChoiceQuestion gpu_choice_question(const GpuChoiceOptions& options, const ScenarioOptions& scenario,
                                      const SimpleTraffic& traffic,
                                      const std::function<RecommendQuestion(const Scenario&)>& settings_for) {
  const std::optional<TimedQuestion> timed = timed_question(options.clock);
  if (rates_of(options.clock).size() > 1)
    throw InputError("--rate: GPUs are chosen for one rate; give one factor");
  if (std::any_of(scenario.flags.begin(), scenario.flags.end(),
                  [](const FlagValue& flag) { return flag.key == "simulate.driver"; }))
    throw InputError("--driver: GPUs are chosen for requests that come by the times of the trace; leave it out");
  GpuChoiceQuestion question{.timed = *timed, .gpus = gpu_numbers(options.gpus.empty() ? usual_gpus : options.gpus),
                             .ranks = {}, .good_share = good_share_of(options.good_share), .routers = {},
                             .scenario_on = {}};
  for (const std::string& router : options.routers) question.routers.push_back(*parse_router_kind(router));
  const bool are_said = says_ranks(scenario);
  if (are_said) question.ranks = {scenario_on(scenario, timed).engine.tensor_parallel};
  else
    for (std::int64_t ranks = 1; ranks <= most_ranks; ranks *= 2) question.ranks.push_back(ranks);
  question.scenario_on = [=](std::int64_t ranks) {
    ScenarioOptions ranked = scenario;
    if (!are_said) ranked.tensor_parallel = std::to_string(ranks);
    RankedScenario asked{.scenario = scenario_on(ranked, timed), .settings = {}, .words = {}};
    asked.settings = settings_for(asked.scenario);
    asked.words = timed_words(ranked, traffic, options, asked.scenario);
    return asked;
  };
  return question;
}

}  // namespace hybridkv
