// Figures of rows and cells of sequences, as an engine is asked for them.
#include "ask/conform/row_figures.h"

#include <doctest/doctest.h>

#include "engines/llama_cpp/engine.h"
#include "planner/plan.h"
#include "scenarios/model_library.h"

using namespace hybridkv;

TEST_CASE("golden: rows of convolutions and of what is behind them are told apart, in MiB of two decimals") {
  const auto figures = [](const char* name, std::int64_t sequences) {
    const ModelSpec& model = find_shipped_model(name)->model;
    EngineSpec engine = llama_cpp.conformance->grid(model).front();
    engine.rules = llama_cpp.rules;
    engine.max_running_requests = sequences;
    return row_figures(make_plan(model, engine, {.max_model_lens = {32'768}}));
  };
  // Ten short convolutions keep two tokens of 2,048 channels of 4 bytes, and nothing else: 0.15625 MiB a sequence.
  CHECK(figures("LFM2.5-1.2B", 1).at("conv_mib") == 0.16);
  CHECK(figures("LFM2.5-1.2B", 3).at("conv_mib") == 0.47);
  CHECK(figures("LFM2.5-1.2B", 3).at("state_mib") == 0);
  // 18 gated delta rules: three tokens of 3 * 16 * 128 channels, and 16 heads of 128 * 128 elements, a MiB.
  CHECK(figures("Qwen3.5-0.8B", 2).at("conv_mib") == 2.53);
  CHECK(figures("Qwen3.5-0.8B", 2).at("state_mib") == 36);
}

TEST_CASE("edge: where all attention has windows the cache without them has no layer, and no cell of one") {
  const ModelSpec& model = find_shipped_model("RecurrentGemma-2B")->model;
  EngineSpec engine = llama_cpp.conformance->grid(model).front();
  engine.rules = llama_cpp.rules;
  engine.max_running_requests = 1;
  const auto caches = row_figures(make_plan(model, engine, {.max_model_lens = {32'768}})).at("caches");
  REQUIRE(caches.size() == 2);
  CHECK(caches[0].at("layers") == 0);
  CHECK(caches[0].at("cells") == 0);
  // Every third of 26 layers.
  CHECK(caches[1].at("layers") == 8);
  CHECK(caches[1].at("cells") > 0);
}
