// Attention backends beside what the machine can do: their instructions at their peak, and reading, measured in the
// same run.
// Every batch is compared with the float64 reference before it is timed.
//
//   build/release/bench/attention_bench
//
// How costs grow. A pair of query and key costs the same at any length: pairs_per_second of `context` stays level while
// the context grows by powers of four. A pack changes where blocks lie, not how much is read: `pack` 8 against 1. Work
// is shared out over threads: `threads` prints the gain beside the gains of both twins.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <string>

#include "measure/attention_bench.h"

namespace {

using namespace hybridkv;

AttentionBenchSpec row(const char* batch, DType dtype, PhysicalOrder order = PhysicalOrder::nhd,
                       std::int64_t pack_size = 1, std::int64_t threads = 1) {
  AttentionBenchSpec spec;
  spec.workload.batch = parse_batch_spec(batch);
  spec.workload.dtype = dtype;
  spec.workload.order = order;
  spec.workload.pack_size = pack_size;
  spec.options.paged.threads = threads;
  return spec;
}

AttentionBenchSpec shared_prefix(AttentionBackend backend, DType dtype) {
  AttentionBenchSpec spec = row("32q1s4160", dtype);
  spec.workload.block_size_tokens = spec.workload.kernel_block_size_tokens = 64;
  spec.workload.shared_prefix_tokens = 4096;
  spec.backend = backend;
  spec.options.unified.shared_bias = SharedBiasMode::full;
  return spec;
}

/// Measures a row inside a benchmark that runs once: the row has its own clock. Nothing where the result is wrong.
bool measure(benchmark::State& state, const AttentionBenchSpec& spec, AttentionBenchResult& result) {
  ResidentBudget budget;
  result = bench_attention(spec, budget);
  if (result.is_correct()) return true;
  state.SkipWithError("differs from the reference");
  return false;
}

void report(benchmark::State& state, const AttentionBenchResult& result) {
  state.SetIterationTime(result.best_seconds);
  state.counters["GFLOP/s"] = 1e-9 * result.flops_per_second;
  state.counters["GB/s"] = 1e-9 * result.bytes_per_second;
  state.counters["of_read"] = result.share_of_read();
  state.counters["of_peak"] = result.share_of_peak();
  state.counters["of_roofline"] = result.share_of_roofline();
  if (!result.roofline_holds()) state.SkipWithError("above its roofline: this machine was measured wrongly");
  state.counters["scratch_KiB"] = static_cast<double>(result.peak_bytes) / 1024;
}

/// Prefill of 2048 tokens: 0.85 of the peak of FMA is asked for.
void prefill(benchmark::State& state) {
  AttentionBenchResult result;
  for (auto _ : state)
    if (measure(state, row("q2k", DType::fp32), result)) report(state, result);
}
BENCHMARK(prefill)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

/// 32 decodes at 4096 tokens: 0.8 of the roofline is asked for. 0: tokens before heads, 1: heads before tokens.
void decode(benchmark::State& state) {
  const PhysicalOrder order = state.range(0) == 0 ? PhysicalOrder::nhd : PhysicalOrder::hnd;
  AttentionBenchResult result;
  for (auto _ : state)
    if (measure(state, row("32q1s4k", DType::bf16, order), result)) report(state, result);
}
BENCHMARK(decode)->Arg(0)->Arg(1)->ArgName("hnd")->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

/// Time of pack 8 over that of pack 1, the best of three alternations: 1.03 at most is asked for.
void pack(benchmark::State& state) {
  double best[2] = {1e300, 1e300};
  AttentionBenchResult result;
  for (auto _ : state) {
    for (int turn = 0; turn < 3; ++turn)
      for (const int which : {0, 1}) {
        if (!measure(state, row("32q1s4k", DType::bf16, PhysicalOrder::nhd, which == 0 ? 1 : 8), result)) return;
        best[which] = std::min(best[which], result.best_seconds);
      }
    report(state, result);
  }
  state.counters["pack8_over_pack1"] = best[1] / best[0];
}
BENCHMARK(pack)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

/// What two threads gain over one, beside what they gain the twin. 0: prefill and the peak, 1: decode and reading.
void threads(benchmark::State& state) {
  const bool is_decode = state.range(0) == 1;
  double best[2] = {0, 0}, twin[2] = {0, 0};
  AttentionBenchResult result;
  for (auto _ : state) {
    for (int turn = 0; turn < 2; ++turn)
      for (const std::int64_t count : {1, 2}) {
        const AttentionBenchSpec spec = is_decode ? row("32q1s4k", DType::bf16, PhysicalOrder::nhd, 1, count)
                                                  : row("q2k", DType::fp32, PhysicalOrder::nhd, 1, count);
        if (!measure(state, spec, result)) return;
        best[count - 1] = std::max(best[count - 1], 1 / result.best_seconds);
        twin[count - 1] =
            std::max(twin[count - 1], is_decode ? result.read_bytes_per_second : result.peak_flops_per_second);
      }
    report(state, result);
  }
  state.counters["gain"] = best[1] / best[0];
  state.counters["gain_of_twin"] = twin[1] / twin[0];
}
BENCHMARK(threads)->Arg(0)->Arg(1)->ArgName("decode")->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

/// 32 decodes behind 4096 common tokens: paged over unified with its whole bias; 5 is asked for, and less than 1 MiB of
/// scratch. 0: fp32, 1: bf16.
void shared_prefix_over_unified(benchmark::State& state) {
  const DType dtype = state.range(0) == 0 ? DType::fp32 : DType::bf16;
  AttentionBenchResult unified, paged;
  for (auto _ : state) {
    if (!measure(state, shared_prefix(AttentionBackend::unified, dtype), unified) ||
        !measure(state, shared_prefix(AttentionBackend::paged, dtype), paged))
      return;
    report(state, paged);
  }
  state.counters["unified_over_paged"] = unified.best_seconds / paged.best_seconds;
  state.counters["unified_KiB"] = static_cast<double>(unified.peak_bytes) / 1024;
}
BENCHMARK(shared_prefix_over_unified)
    ->Arg(0)
    ->Arg(1)
    ->ArgName("bf16")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// One decode at growing context.
void context(benchmark::State& state) {
  AttentionBenchSpec spec = row("q1", DType::bf16);
  spec.workload.batch.runs = {{1, 1, state.range(0)}};
  AttentionBenchResult result;
  for (auto _ : state)
    if (measure(state, spec, result)) report(state, result);
  state.counters["pairs_per_second"] = static_cast<double>(state.range(0)) / result.best_seconds;
}
BENCHMARK(context)
    ->RangeMultiplier(4)
    ->Range(1 << 12, 1 << 18)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// The same prefill on every instruction set of this processor: 0 plain, 1 AVX2, 2 AVX-512, 3 with
/// products of bf16, 4 with those in tiles.
void instructions(benchmark::State& state) {
  const auto path = static_cast<SimdPath>(state.range(0));
  if (!is_available(path)) return state.SkipWithError("this processor does not have it");
  AttentionBenchSpec spec = row("q512", DType::fp32);
  spec.options.paged.simd = path;
  AttentionBenchResult result;
  for (auto _ : state)
    if (measure(state, spec, result)) report(state, result);
  state.SetLabel(std::string(to_string(path)));
}
BENCHMARK(instructions)
    ->DenseRange(0, static_cast<int>(all_simd_paths.size()) - 1)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
