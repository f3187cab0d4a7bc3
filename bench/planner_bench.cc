// Speed of planning: one plan, with and without what only its readers need, and 100,000 plans of `hybridkv sweep`.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

/// Arguments: layers of a pack; 0 the full plan, 1 without views, 2 its numbers alone (PlanDetail).
void BM_make_plan(benchmark::State& state) {
  const ModelSpec model = qwen_397b();
  EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{40} << 30};
  engine.attention_pack_size = state.range(0);
  const LimitsSpec limits{.max_model_lens = {32768}};
  const auto detail = static_cast<PlanDetail>(state.range(1));
  // The table of vLLM PR 35703.
  const std::int64_t page = state.range(0) == 1 ? 2'146'304 : state.range(0) == 4 ? 2'162'688 : 2'211'840;
  if (make_plan(model, engine, limits, {}, detail).page_bytes() != page) state.SkipWithError("the page is wrong");
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(model, engine, limits, {}, detail));
}
BENCHMARK(BM_make_plan)->ArgsProduct({{1, 4, 15}, {0, 1, 2}})->Unit(benchmark::kMicrosecond);

/// Processor time of all programs that were started here and have ended.
double child_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The program from its start to its last row: 102,240 points, of which most can be planned. Argument: threads.
void BM_sweep_100000_plans(benchmark::State& state) {
  const auto file = std::filesystem::temp_directory_path() / "hybridkv-planner-bench.jsonl";
  const std::string command =
      "'" HYBRIDKV_PROGRAM "' sweep qwen3.5-397b --pack 1..16 --tp 1,2,4 --memory 10GiB..80GiB "
      "--max-model-len 8192,32768,65536,131072,262144 --set engine.cache_mode='[none, align, all]' "
      "--set engine.speculative_tokens=0..1 --quiet --threads " +
      std::to_string(state.range(0)) + " -o '" + file.string() + "'";
  constexpr std::int64_t points = 102'240;
  const double before = child_seconds();
  for (auto _ : state) {
    std::filesystem::remove(file);
    if (std::system(command.c_str()) != 0) state.SkipWithError("the sweep failed");
  }
  std::int64_t rows = 0;
  std::int64_t ok = 0;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line); ++rows)
    if (line.find("\"status\":\"ok\"") != std::string::npos) ++ok;
  if (rows != points || ok < points / 2) state.SkipWithError("rows are missing");
  std::filesystem::remove(file);
  // Processor time, which says what the sweep costs also on a machine that has other work.
  const double runs = static_cast<double>(state.iterations());
  state.counters["cpu_s"] = (child_seconds() - before) / runs;
  state.counters["cpu_us_per_plan"] = (child_seconds() - before) / runs / static_cast<double>(points) * 1e6;
}
BENCHMARK(BM_sweep_100000_plans)->Arg(1)->Arg(2)->UseRealTime()->Iterations(2)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
