// What vLLM 0.33 keeps of each layer of models that are shipped, on one rank of several, against their files.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "csv_rows.h"
#include "planner/plan.h"
#include "scenario_text.h"

namespace hybridkv::test {

namespace {

/// Layers with a cache in order: a full attention or latents, w a window, m recurrent.
std::string order_of(const ModelSpec& model) {
  std::string order;
  for (const LayerSpec& layer : model.layers) {
    if (layer.attention) order += layer.attention->window_tokens > 0 ? 'w' : 'a';
    if (layer.recurrent) order += 'm';
  }
  return order;
}

std::string shapes_of(const StateSpec& state) {
  std::string text;
  for (const StateTensor& tensor : state.tensors) {
    std::string shape;
    for (const Axis& axis : tensor.layout.axes()) shape += fmt::format("{}{}", shape.empty() ? "" : "x", axis.extent);
    text += (text.empty() ? "" : ";") + shape;
  }
  return text;
}

/// K and V of one head and token in bf16; of a latent all of it.
std::int64_t head_bytes_of(const AttentionGeometry& attention) {
  return 2 * (attention.head_size_k + (attention.kind == AttentionKind::mla ? 0 : attention.head_size_v));
}

}  // namespace

TEST_CASE("golden: layers, heads and states of shipped models are those that vLLM 0.33 has of them") {
  std::size_t looked_at = 0;
  for (const Row& row : rows_of("engine_033_models.csv")) {
    CAPTURE(row.at("model"));
    CAPTURE(row.at("tp"));
    CAPTURE(row.at("s"));
    const Scenario scenario = read_text_as_scenario(
        // The query heads of Falcon-H1-3B, which no cache depends on, are not shared by 8 ranks.
        fmt::format("model: {}\nengine: {{tensor_parallel: {}, pad_heads: true, speculative_tokens: {}, "
                    "num_blocks: 1000000}}\n"
                    "limits: {{max_model_len: 1024}}\n", row.at("model"), row.at("tp"), row.at("s")));
    if (!row.at("order").empty()) CHECK(order_of(scenario.model) == row.at("order"));
    const CachePlan plan = make_plan(scenario.model, scenario.engine, scenario.limits);
    std::int64_t full = 0, windows = 0, recurrent = 0;
    for (const SpecPlan& spec : plan.specs) {
      if (spec.auxiliary) continue;
      const bool windowed = spec.attention && spec.attention->window_tokens > 0;
      (spec.state ? recurrent : windowed ? windows : full) += std::ssize(spec.layers);
      if (spec.state) {
        CHECK(shapes_of(*spec.state) == row.at("state_shapes"));
        CHECK(spec.state->bytes == std::stoll(row.at("state_bytes")));
        continue;
      }
      CHECK(spec.attention->kv_heads == std::stoll(row.at(windowed ? "window_heads" : "full_heads")));
      CHECK(head_bytes_of(*spec.attention) == std::stoll(row.at(windowed ? "window_bytes" : "full_bytes")));
      if (windowed) CHECK(spec.attention->window_tokens == std::stoll(row.at("window_tokens")));
    }
    CHECK(full == std::stoll(row.at("full_layers")));
    CHECK(windows == std::stoll(row.at("window_layers")));
    CHECK(recurrent == std::stoll(row.at("recurrent_layers")));
    ++looked_at;
  }
  CHECK(looked_at == 70);
}

}  // namespace hybridkv::test
