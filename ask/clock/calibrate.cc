#include "ask/clock/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ask/clock/decode_log.h"
#include "ask/clock/timed_replay.h"
#include "ask/replay/planned_caches.h"
#include "base/byte_source.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/number_text.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// With --save-detailed a test of a million requests.
constexpr std::size_t most_bench_bytes = std::size_t{1} << 28;
constexpr std::size_t most_forward_bytes = std::size_t{1} << 24;

/// The figures of a load test, with messages that name the file and the key.
class BenchReader {
 public:
  explicit BenchReader(const std::string& file) : name_(input_name(file)) {
    std::string text = whole_text(file, most_bench_bytes, "result of a load test");
    // Some tools append a line for each run: the last one counts.
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    json_ = Json::parse(text, nullptr, false);
    if (json_.is_discarded()) json_ = Json::parse(text.substr(text.find_last_of('\n') + 1), nullptr, false);
    if (!json_.is_object())
      throw InputError(fmt::format("{}: is no result of a load test, which is an object of JSON", name_));
  }

  double number(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number()) refuse(key, "is no number there");
    const double value = found->get<double>();
    if (!(value > 0 && std::isfinite(value))) refuse(key, fmt::format("{:g} is not above 0", value));
    return value;
  }
  double number_or(const char* key, double otherwise) const {
    const auto found = json_.find(key);
    return found != json_.end() && found->is_number() ? found->get<double>() : otherwise;
  }
  [[noreturn]] void refuse(const char* key, const std::string& problem) const {
    throw InputError(fmt::format("{}: {}: {}; the engine's load test writes it, run with a limit of concurrency", name_,
                                 key, problem));
  }

 private:
  std::string name_;
  Json json_;
};

std::vector<std::string> tests_to_run(const Engine& engine, const Scenario& scenario) {
  constexpr std::int64_t shortest = 1024, longest = 8192, outputs = 256, concurrency = 4, requests = 40;
  std::vector<std::string> commands;
  for (const auto& [tokens, file] : {std::pair{shortest, "short.json"}, {longest, "long.json"}})
    commands.push_back(engine.clock->bench(
        {.model = scenario.model.name, .input = tokens, .output = outputs, .concurrency = concurrency,
         .requests = requests, .file = file}));
  return commands;
}

}  // namespace

MeasuredRun read_bench(const std::string& file) {
  const BenchReader bench(file);
  MeasuredRun run;
  const double completed = bench.number("completed");
  // Tools of one engine draw lengths within a range around the nominal one, of another up to it; the mean is known of
  // both, and the range moves the figures little.
  const auto mean = [&](const char* key) { return std::llround(bench.number(key) / completed); };
  run.test = {.input_tokens = std::max<std::int64_t>(1, mean("total_input_tokens")),
              .output_tokens = std::max<std::int64_t>(1, mean("total_output_tokens")),
              .least_share = 1,
              .concurrency = std::llround(bench.number("max_concurrency")),
              .requests = std::llround(completed)};
  if (const std::string problem = unusable(run.test); !problem.empty()) bench.refuse("max_concurrency", problem);
  run.first_token = bench.number("mean_ttft_ms") * 1e-3;
  run.output_token = bench.number_or("mean_tpot_ms", 0) * 1e-3;
  return run;
}

namespace {

/// The steps of the files, in their order.
std::vector<MeasuredShape> read_forwards(const std::vector<std::string>& files) {
  std::vector<MeasuredShape> all;
  for (const std::string& file : files) {
    const std::string text = whole_text(file, most_forward_bytes, "result of a benchmark of forward passes");
    const std::vector<MeasuredShape> measured = parse_forward(text, input_name(file));
    all.insert(all.end(), measured.begin(), measured.end());
  }
  return all;
}

/// The steps of the logs, in their order.
std::vector<MeasuredShape> read_logs(const CalibrateQuestion& question, const LoopRules& rules) {
  const Engine& engine = engine_of(*question.scenario.engine.rules);
  const RunTexts* texts = engine.log != nullptr ? engine.log->texts->run : nullptr;
  if (texts == nullptr && !question.logs.empty())
    throw InputError(fmt::format("--log: {} prints nothing while it serves that is known; give --bench",
                                 engine.rules->name));
  std::vector<MeasuredShape> all;
  for (const std::string& file : question.logs) {
    const std::vector<MeasuredShape> measured = read_decode_log(file, *texts, rules);
    all.insert(all.end(), measured.begin(), measured.end());
  }
  return all;
}

/// The load tests of the files, of this deployment.
std::vector<MeasuredRun> read_benches(const CalibrateQuestion& question, const StepClock& clock,
                                      const LoopRules& rules) {
  std::vector<MeasuredRun> runs;
  for (const std::string& file : question.benches) {
    MeasuredRun run = read_bench(file);
    run.model = clock.model();
    run.split = clock.split();
    run.gpu = clock.gpu();
    run.rules = rules;
    runs.push_back(run);
  }
  return runs;
}

/// What a calibrated clock is made from: "calibrated by 2 load tests and 24 steps of Qwen3.5-35B-A3B on 1 H200".
std::string basis_of(const CalibrateAnswer& answer, const std::string& model) {
  const std::string tests = human_plural(std::ssize(answer.runs), "load test");
  const std::string steps = human_plural(std::ssize(answer.steps), "step");
  std::string basis = fmt::format("calibrated by {} of {} on {} {}",
                                  answer.steps.empty()  ? tests
                                  : answer.runs.empty() ? steps
                                                        : tests + " and " + steps,
                                  model, answer.served.clock->split().gpus, answer.served.gpu);
  if (!answer.steps.empty()) {
    const StepError& error = answer.step_apart ? *answer.step_apart : answer.step_after;
    const bool served = std::any_of(answer.steps.begin(), answer.steps.end(),
                                    [](const CalibratedStep& step) { return step.served; });
    const char* const rest = !answer.runs.empty() ? ""
                             : served             ? ", prompts as the engine's clock has them"
                                                  : ", all beside steps as the engine's clock has it";
    basis += fmt::format(" (median error of a step {}: {:.1f} %{})", answer.step_apart ? "held back" : "on these",
                         error.median, rest);
  }
  return basis;
}

}  // namespace

CalibrateAnswer calibrate(const CalibrateQuestion& question) {
  CalibrateAnswer answer{.served = served_clock(question.scenario, question.scenario.simulate.clock.served)};
  const Engine& engine = engine_of(*question.scenario.engine.rules);
  if (!question.has_files()) {
    answer.commands = tests_to_run(engine, question.scenario);
    return answer;
  }
  const StepClock& clock = *answer.served.clock;
  LoopRules rules;
  if (!question.benches.empty() || !question.logs.empty())
    rules = loop_rules(planned_caches(question.scenario).front(), question.scenario, clock.split());
  const std::vector<MeasuredRun> runs = read_benches(question, clock, rules);
  std::vector<MeasuredStep> steps;
  for (const MeasuredShape& shape : read_forwards(question.forwards)) {
    steps.push_back({clock.workload(forward_batch(shape.shape, clock.windows())), shape.seconds});
    answer.steps.push_back({.measured = shape});
  }
  for (const MeasuredShape& shape : read_logs(question, rules)) {
    steps.push_back({clock.workload(served_batch(shape.shape, clock.windows())), shape.seconds, true});
    answer.steps.push_back({.measured = shape, .served = true});
  }
  const ReplayedRuns replayed(runs);
  const Coefficients before = clock.coefficients(), after = calibrated(before, replayed, steps);
  for (std::size_t i = 0; i < runs.size(); ++i)
    answer.runs.push_back({.file = question.benches[i],
                           .test = runs[i].test,
                           .first_token = runs[i].first_token,
                           .output_token = runs[i].output_token,
                           .before = replayed.predicted(i, before),
                           .after = replayed.predicted(i, after)});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    answer.steps[i].before = predicted_seconds(steps[i], before);
    answer.steps[i].after = predicted_seconds(steps[i], after);
  }
  answer.before = replayed.error(before);
  answer.step_before = step_error(steps, before);
  answer.step_after = step_error(steps, after);
  answer.step_apart = step_error_apart(before, steps);
  ClockFile& source = answer.served.source;
  source.coefficients = after;
  source.basis = basis_of(answer, question.scenario.model.name);
  // Of a first token and a time per output token steps alone say nothing: what was known of them stays.
  if (!runs.empty()) {
    source.fitted = replayed.error(after);
    source.apart.reset();
  }
  answer.served.clock = std::make_shared<const StepClock>(clock.model(), clock.split(), clock.gpu(), after);
  return answer;
}

}  // namespace hybridkv
