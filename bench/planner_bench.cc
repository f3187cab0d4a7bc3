// Speed of planning: what one plan costs, with and without what only readers of it need.
#include <benchmark/benchmark.h>

#include "planner/plan.h"

namespace {

using namespace hybridkv;

/// Qwen3.5-397B-A17B: 60 layers, every fourth with full attention.
ModelSpec qwen_397b() {
  ModelSpec model{.name = "Qwen3.5-397B-A17B", .ssm_dtype = DType::fp32};
  for (int layer = 0; layer < 60; ++layer) {
    LayerSpec spec;
    if (layer % 4 == 3)
      spec.attention = AttentionSpec{.query_heads = 32, .kv_heads = 2, .head_size_k = 256, .head_size_v = 256};
    else
      spec.recurrent = GdnSpec{.key_heads = 16, .value_heads = 64, .key_head_dim = 128, .value_head_dim = 128,
                               .conv_kernel = 4};
    model.layers.push_back(spec);
  }
  return model;
}

/// Arguments: layers of a pack; 0 the full plan, 1 its numbers alone.
void BM_make_plan(benchmark::State& state) {
  const ModelSpec model = qwen_397b();
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{40} << 30};
  engine.attention_pack_size = state.range(0);
  const LimitsSpec limits{.max_model_lens = {32768}};
  const auto detail = static_cast<PlanDetail>(state.range(1));
  if (make_plan(model, engine, limits, {}, detail).page_bytes < 2'134'016) state.SkipWithError("the page holds no state");
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(model, engine, limits, {}, detail));
}
BENCHMARK(BM_make_plan)->ArgsProduct({{1, 4, 15}, {0, 1}})->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
