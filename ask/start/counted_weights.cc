#include "ask/start/counted_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/number_text.h"
#include "planner/weight_bytes.h"

namespace hybridkv {

CountedWeights counted_weights(const ModelSpec& model, const EngineSpec& engine) {
  if (!model.parameters)
    throw InputError(fmt::format(
        "--gpu needs --weights SIZE, what the weights take on one rank: the file of {} states no number of parameters; "
        "an engine prints it as \"Model loading took 21.86 GiB memory\". Or give --available-memory, as the engine "
        "prints it", model.name));
  const ModelParameters& parameters = *model.parameters;
  const WeightSplit split{.tensor_parallel = engine.tensor_parallel,
                          .pipeline_parallel = engine.pipeline_parallel,
                          .with_drafts = engine.mtp_layers > 0};
  CountedWeights weights;
  weights.bytes = weight_bytes_per_rank(parameters, split, model.dtype);
  weights.basis = fmt::format("{:.1f} B parameters in {}", static_cast<double>(total_parameters(parameters)) / 1e9,
                              to_string(model.dtype));
  if (parameters.weight_bits) weights.basis += fmt::format(", layers in {:g} bits", *parameters.weight_bits);
  if (parameters.expert_bits) weights.basis += fmt::format(", experts in {:g} bits", *parameters.expert_bits);
  const std::int64_t ranks = engine.tensor_parallel * engine.pipeline_parallel;
  if (ranks > 1) weights.basis += fmt::format(" on {}", human_plural(ranks, "rank"));
  if (!parameters.not_counted.empty())
    weights.basis += fmt::format(", without {}", fmt::join(parameters.not_counted, ", "));
  return weights;
}

}  // namespace hybridkv
