#include "ask/clock/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ask/clock/timed_replay.h"
#include "ask/replay/planned_caches.h"
#include "base/byte_source.h"
#include "base/error.h"
#include "base/input_file.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// With --save-detailed a test of a million requests.
constexpr std::size_t most_bench_bytes = std::size_t{1} << 28;

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

CalibrateAnswer calibrate(const CalibrateQuestion& question) {
  CalibrateAnswer answer{
      .served = served_clock(question.scenario, question.served), .runs = {}, .before = {}, .commands = {}};
  const Engine& engine = engine_of(*question.scenario.engine.rules);
  if (question.benches.empty()) {
    answer.commands = tests_to_run(engine, question.scenario);
    return answer;
  }
  const StepClock& clock = *answer.served.clock;
  const LoopRules rules = loop_rules(planned_caches(question.scenario).front(),
                                     question.scenario.engine.max_num_batched_tokens);
  std::vector<MeasuredRun> runs;
  for (const std::string& file : question.benches) {
    MeasuredRun run = read_bench(file);
    run.model = clock.model();
    run.split = clock.split();
    run.gpu = clock.gpu();
    run.rules = rules;
    runs.push_back(run);
  }
  const ReplayedRuns replayed(runs);
  const Coefficients before = clock.coefficients();
  ClockFile& source = answer.served.source;
  source.coefficients = calibrated(before, replayed);
  source.basis = fmt::format("calibrated by {} load tests of {} on {} {}", runs.size(), question.scenario.model.name,
                             clock.split().gpus, answer.served.gpu);
  answer.before = replayed.error(before);
  source.fitted = replayed.error(source.coefficients);
  source.apart.reset();
  answer.served.clock =
      std::make_shared<const StepClock>(clock.model(), clock.split(), clock.gpu(), source.coefficients);
  for (std::size_t i = 0; i < runs.size(); ++i)
    answer.runs.push_back({.file = question.benches[i],
                           .test = runs[i].test,
                           .first_token = runs[i].first_token,
                           .output_token = runs[i].output_token,
                           .before = replayed.predicted(i, before),
                           .after = replayed.predicted(i, source.coefficients)});
  return answer;
}

}  // namespace hybridkv
