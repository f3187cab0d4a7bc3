#include "cli/clock_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ask/clock/served_clock.h"
#include "base/error.h"
#include "base/input_file.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "engines/gpus.h"
#include "scenarios/number.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

double positive(const char* flag, const std::string& text, std::string_view suffix, const char* way) {
  std::string_view number = text;
  if (!suffix.empty() && number.ends_with(suffix)) number.remove_suffix(suffix.size());
  const ParsedReal value = parse_real(std::string(number));
  if (!value.problem.empty() || !(value.value > 0))
    throw InputError(fmt::format("{} {}: must be a number above 0{}", flag, text, way));
  return value.value;
}

}  // namespace

void add_gpu_options(CLI::App& command, ClockOptions& options) {
  std::vector<std::string> gpus;
  for (const Gpu& gpu : known_gpus()) gpus.emplace_back(gpu.name);
  command.add_option("--gpu", options.gpu, "by the clock: times on this GPU, H200, B200 … (docs/clock.md)")
      ->check(offers({gpus}))
      ->type_name("NAME");
  command.add_option("--clock", options.clock, "of hybridkv calibrate, in place of the engine's")->type_name("FILE");
}

void add_served_options(CLI::App& command, ClockOptions& options) {
  add_gpu_options(command, options);
  command.add_option("--gpus", options.gpus, "of a replica (default: as many as ranks)")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N");
}

void add_clock_options(CLI::App& command, ClockOptions& options) {
  add_served_options(command, options);
  add_service_options(command, options, "requests come so many times as fast: 2x; a list 0.5x,1x,2x draws the load");
  add_price_option(command, options);
}

void add_service_options(CLI::App& command, ClockOptions& options, const char* rates) {
  command.add_option("--ttft", options.ttft, "limit of the first token: 1s, 500ms")->type_name("TIME");
  command.add_option("--tpot", options.tpot, "limit of each further token: 40ms")->type_name("TIME");
  command.add_option("--rate", options.rate, rates)->type_name("FACTOR");
}

void add_price_option(CLI::App& command, ClockOptions& options) {
  command.add_option("--price", options.price, "of a GPU and hour, for the price of a million tokens")
      ->type_name("MONEY");
}

std::vector<double> rates_of(const ClockOptions& options) {
  if (options.rate.empty()) return {1};
  std::vector<double> rates;
  for (const std::string& rate : split_list("--rate", options.rate))
    rates.push_back(positive("--rate", rate, "x", "; write it like 2x, or as a list 0.5x,1x,2x"));
  constexpr double least = 1e-6, most = 1e6;
  for (const double rate : rates)
    if (rate < least || rate > most)
      throw InputError(fmt::format("--rate {}: is from {:g} to {:g}", options.rate, least, most));
  return rates;
}

namespace {

/// Throws InputError for a flag that says how a GPU is asked where none is named.
void refuse_without_gpu(const ClockOptions& options, bool is_named) {
  if (is_named) return;
  for (const auto& [flag, given] : {std::pair{"--gpus", options.gpus != 0},
                                    {"--clock", !options.clock.empty()},
                                    {"--ttft", !options.ttft.empty()},
                                    {"--tpot", !options.tpot.empty()},
                                    {"--rate", !options.rate.empty()},
                                    {"--price", !options.price.empty()}})
    if (given) throw InputError(fmt::format("{} belongs to a replay by a clock; say on what by --gpu NAME", flag));
}

void lay_over(TimedQuestion& question, const ClockOptions& options) {
  if (!options.gpu.empty()) question.served.gpu = options.gpu;
  refuse_without_gpu(options, question.is_asked());
  if (options.gpus != 0) question.served.gpus = options.gpus;
  if (!options.clock.empty()) question.served.file = options.clock;
  if (!options.ttft.empty()) question.limits.first_token = duration_of("--ttft", options.ttft);
  if (!options.tpot.empty()) question.limits.output_token = duration_of("--tpot", options.tpot);
  if (!options.rate.empty()) question.rate = rates_of(options).front();
  if (!options.price.empty()) question.price_per_gpu_hour = positive("--price", options.price, "", "");
}

}  // namespace

void refuse_clock(const ClockOptions& options) {
  refuse_without_gpu(options, !options.gpu.empty());
  if (!options.gpu.empty())
    throw InputError("--gpu needs a model, whose steps take time; name a SCENARIO or give --model");
}

bool says_memory(const ScenarioOptions& options) {
  const auto flags = given_flags(options);
  const bool has_file = !options.scenario.empty() &&
                        (options.scenario == standard_input || !load_scenario(options.scenario).is_model_alone);
  return has_file ||
         std::any_of(flags.begin(), flags.end(), [](const auto& flag) { return flag.first == "--memory"; }) ||
         std::any_of(options.overrides.begin(), options.overrides.end(), [](const std::string& assignment) {
           return assignment.starts_with("engine.memory=") || assignment.starts_with("engine.num_blocks=");
         });
}

std::optional<TimedQuestion> timed_question(const ClockOptions& options) {
  TimedQuestion question;
  lay_over(question, options);
  return question.is_asked() ? std::optional(question) : std::nullopt;
}

Scenario read_scenario_on(const ScenarioOptions& options, const std::optional<TimedQuestion>& timed) {
  Scenario scenario = scenario_on(options, timed);
  show_notes(scenario.notes);
  return scenario;
}

Scenario read_scenario_on(const ScenarioOptions& options, const ClockOptions& clock) {
  std::optional<TimedQuestion> timed;
  if (!clock.gpu.empty()) timed = timed_question(clock);
  Scenario scenario = read_scenario_on(options, timed);
  lay_over(scenario.simulate.clock, clock);
  return scenario;
}

ScenarioOptions with_all_memory(const ScenarioOptions& options, const TimedQuestion& timed) {
  ScenarioOptions all = options;
  all.flags.push_back(
      {"engine.memory", std::to_string(find_gpu(timed.served.gpu).total_bytes), "--gpu " + timed.served.gpu});
  return all;
}

void leave_to_weights(Scenario& scenario, const TimedQuestion& timed) {
  set_memory(scenario.engine, cache_memory(scenario, find_gpu(timed.served.gpu)));
}

Scenario scenario_on(const ScenarioOptions& options, const std::optional<TimedQuestion>& timed) {
  if (!timed || says_memory(options)) return read_scenario(scenario_file(options));
  Scenario scenario = read_scenario(scenario_file(with_all_memory(options, *timed)));
  leave_to_weights(scenario, *timed);
  return scenario;
}

}  // namespace hybridkv
