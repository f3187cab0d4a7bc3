#include "ask/clock/served_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ask/start/counted_weights.h"
#include "ask/start/memory_budget.h"
#include "base/byte_source.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "engines/embedded_files.h"
#include "engines/gpus.h"
#include "engines/start.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_clock_bytes = std::size_t{1} << 16;
/// What engines may take of a GPU where nobody says it.
constexpr double assumed_utilization = 0.9;

}  // namespace

const ClockFile& clock_of(const Engine& engine) {
  static const std::map<std::string, ClockFile> clocks = [] {
    std::map<std::string, ClockFile> all;
    for (const EmbeddedFile& file : embedded_clocks())
      all.emplace(file.path, parse_clock(file.text, std::string(file.path)));
    return all;
  }();
  if (engine.clock == nullptr)
    throw not_known_of(*engine.rules, "how long a step of {} takes", "take an engine that was measured");
  return clocks.at(std::string(engine.clock->file));
}

ServedClock served_clock(const Scenario& scenario, const ClockQuestion& question) {
  const Gpu& gpu = find_gpu(question.gpu);
  const EngineSpec& engine = scenario.engine;
  if (question.gpus != 0 && (question.gpus < engine.tensor_parallel || question.gpus % engine.tensor_parallel != 0))
    throw InputError(fmt::format("--gpus {}: is no multiple of the {} ranks that share heads (--tp)", question.gpus,
                                 engine.tensor_parallel));
  if (engine.pipeline_parallel > 1)
    throw SpecError("engine.pipeline_parallel", "stages one behind the other have no clock; leave it 1");
  ServedClock served{.clock = nullptr, .source = clock_of(engine_of(*engine.rules)), .gpu = std::string(gpu.name)};
  if (!question.file.empty()) {
    const std::string name = input_name(question.file);
    ClockFile file = parse_clock(whole_text(question.file, most_clock_bytes, "clock"), name);
    if (file.engine != served.source.engine)
      throw InputError(fmt::format("{}: is a clock of {}, and the engine is {}", name, printable(file.engine),
                                   engine.rules->title));
    served.source = std::move(file);
  }
  const ClockSplit split{engine.tensor_parallel, question.gpus == 0 ? engine.tensor_parallel : question.gpus};
  served.clock = std::make_shared<const StepClock>(clock_model(scenario.model, engine, gpu.speed), split, gpu.speed,
                                                   served.source.coefficients);
  return served;
}

std::int64_t cache_memory(const Scenario& scenario, const Gpu& gpu) {
  const Engine& engine = engine_of(*scenario.engine.rules);
  EngineStart start;
  start.beside_bytes = usual_beside_bytes;
  if (engine.start != nullptr) start = *engine.start;
  EngineSpec asked = scenario.engine;
  const std::int64_t most_ranks = std::max<std::int64_t>(64, asked.tensor_parallel);
  std::int64_t left = 0;
  for (; asked.tensor_parallel <= most_ranks; asked.tensor_parallel *= 2) {
    const CountedWeights weights = counted_weights(scenario.model, asked);
    left = memory_budget(gpu, assumed_utilization, weights.bytes, std::nullopt, start).available_bytes;
    if (left > 0) break;
  }
  if (asked.tensor_parallel == scenario.engine.tensor_parallel) return left;
  throw InputError(fmt::format("--gpu {}: the weights of {} leave nothing for a cache on {}{}", gpu.name,
                               scenario.model.name, human_plural(scenario.engine.tensor_parallel, "rank"),
                               left > 0 ? fmt::format("; take --tp {}", asked.tensor_parallel) : ""));
}

std::string clock_label(const ServedClock& served) {
  const ClockError& error = served.source.error();
  return fmt::format("clock of {}, {}; median error {}: {:.0f} % of a first token, {:.0f} % of a time per output token",
                     served.source.engine, served.source.basis,
                     served.source.apart ? "on runs that it had not seen" : "on these runs", error.first_token_median,
                     error.output_token_median);
}

}  // namespace hybridkv
