#include "web/budget.h"

#include <fmt/format.h>

#include "ask/start/counted_weights.h"
#include "ask/start/memory_budget.h"
#include "base/error.h"
#include "base/number_text.h"
#include "engines/engine.h"
#include "scenarios/number.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

double utilization_of(const std::string& text) {
  const ParsedReal share = parse_real(text);
  if (!share.problem.empty() || share.value <= 0 || share.value > 1)
    throw InputError(fmt::format("utilization: '{}' is no share of the GPU; give a number above 0, at most 1", text));
  return share.value;
}

/// The weights of one rank as they are written, or counted where nothing is.
CountedWeights weights_of(const std::string& text, const Json& question, const Gpu& gpu) {
  if (text.empty()) {
    // A scenario has a memory, on which weights do not depend.
    PageQuestion asked(question);
    asked.values.emplace_back("engine.memory", std::to_string(gpu.total_bytes));
    const Scenario scenario = read_scenario(asked.file());
    if (!scenario.model.parameters)
      throw InputError(fmt::format("weights: the file of {} states no number of parameters; say what they take on one "
                                   "rank", scenario.model.name));
    return counted_weights(scenario.model, scenario.engine);
  }
  const ParsedNumber bytes = parse_size(text);
  if (!bytes.problem.empty())
    throw InputError(fmt::format("weights: '{}' {}; give bytes, or a number with a unit like 14GiB", text,
                                 bytes.problem));
  return {.bytes = bytes.value, .basis = {}};
}

}  // namespace

std::string budget_answer(const Json& question) {
  const Gpu& gpu = find_gpu(text_of(question, "gpu"));
  const std::string share = text_of(question, "utilization");
  const CountedWeights weights = weights_of(text_of(question, "weights"), question, gpu);
  const MemoryBudget budget = memory_budget(gpu, utilization_of(share), weights.bytes, std::nullopt,
                                            *engine_of_today().start);
  if (budget.available_bytes <= 0)
    throw InputError(fmt::format("weights: {} of weights and {} beside them leave nothing of {} of {}; take more ranks",
                                 human_bytes(budget.weights_bytes), human_bytes(budget.beside_bytes), share, gpu.name));
  return Json{{"memory_bytes", budget.available_bytes},
              {"text", fmt::format("{} of {}: {}, less {} of weights{} and about {} beside them", share, gpu.name,
                                   human_bytes(budget.requested_bytes), human_bytes(budget.weights_bytes),
                                   weights.basis.empty() ? "" : fmt::format(" ({})", weights.basis),
                                   human_bytes(budget.beside_bytes))}}
      .dump();
}

}  // namespace hybridkv
