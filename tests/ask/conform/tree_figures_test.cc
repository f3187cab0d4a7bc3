// Figures of two pools under a radix tree, as an engine is asked for them.
#include "ask/conform/tree_figures.h"

#include <doctest/doctest.h>

#include "engines/sglang/engine.h"
#include "planner/plan.h"
#include "scenarios/model_library.h"

using namespace hybridkv;

TEST_CASE("golden: of 32 layers every fourth has K and V, the others states, and those of a drafter count too") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-4B")->model;
  EngineSpec engine = sglang_0_5_23.conformance->grid(model).front();
  engine.rules = sglang_0_5_23.rules;
  const auto figures = [&] { return tree_figures(make_plan(model, engine, {.max_model_lens = {32'768}})); };
  CHECK(figures().at("attention_layers") == 8);
  CHECK(figures().at("state_layers") == 24);
  // As SGLang 0.5.23 says: three tokens of 2 * 16 * 128 and 32 * 128 channels, and 32 heads of 128 * 128 elements.
  CHECK(figures().at("states") == nlohmann::ordered_json::parse(R"([{"shape": [8192, 3], "dtype": "bf16"},
      {"shape": [32, 128, 128], "dtype": "fp32"}])"));
  engine.speculative_tokens = 4;
  engine.max_running_requests = 48;
  engine.mtp_layers = 1;
  CHECK(figures().at("attention_layers") == 9);
}
