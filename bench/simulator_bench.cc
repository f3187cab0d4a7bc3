// Speed of the simulator. Benchmarks on the conversation trace need it in $HYBRIDKV_TRACE_DIR or ../shared/traces and
// are skipped without it. Each checks its result before it is timed.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "simulator/sweep.h"
#include "simulator/trace/synthetic_trace.h"
#include "simulator/trace/trace_file.h"
#include "simulator/tree/tree_replay.h"

namespace {

using namespace hybridkv;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

CacheGeometry align(std::int64_t block, std::int64_t num_blocks, std::int64_t state_groups = 1) {
  return {.block_size_tokens = block, .num_blocks = num_blocks, .state_groups = state_groups, .mode = CacheMode::align};
}

std::vector<TraceBatch> decode(TraceSource& trace) {
  std::vector<TraceBatch> batches;
  for (TraceBatch batch; trace.next(batch);) batches.push_back(batch);
  return batches;
}

SimulationStats simulate(const CacheGeometry& geometry, const DriverSpec& driver,
                         const std::vector<TraceBatch>& batches) {
  Simulation simulation(geometry, driver);
  for (const TraceBatch& batch : batches) simulation.consume(batch);
  return simulation.finish();
}

/// The trace's path, or nothing after the benchmark has been told to skip.
std::optional<std::string> conversation(benchmark::State& state) {
  const auto path = find_trace("mooncake_conversation.jsonl", HYBRIDKV_SOURCE_DIR);
  if (!path) state.SkipWithError("mooncake_conversation.jsonl not found");
  return path;
}

/// Sums of tests/data/simulator/replay/replay_conversation_2000_align_bs528_pool2000_g1.csv.
bool replays_the_engine(const std::string& path) {
  TraceFile trace({.path = path, .max_requests = 2000});
  const SimulationStats stats = simulate(align(528, 2000), {}, decode(trace));
  return stats.hit_tokens == 307824 && stats.prefill_chunks == 6493 && stats.pool.evictions == 52851;
}

void report_operations(benchmark::State& state, std::int64_t operations) {
  state.counters["block_ops_per_s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
  state.counters["s_per_block_op"] =
      benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

double best(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

/// 10 million generated requests through a pool of a million blocks. First in the list, so that the process's
/// peak of resident memory is its own.
void ten_million_generated_requests(benchmark::State& state) {
  SimulationStats stats;
  for (auto _ : state) {
    SyntheticTrace trace({.num_requests = 10'000'000});
    const SweepSpec sweep{.simulations = {{align(528, 1'000'000)}}, .threads = 1};
    stats = run_sweep(trace, sweep).caches.at(0).blocks();
  }
  if (stats.requests != 10'000'000) state.SkipWithError("not all requests were simulated");
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["hit_rate"] = stats.hit_rate();
  report_operations(state, stats.pool.operations());
}
BENCHMARK(ten_million_generated_requests)->Iterations(1)->Unit(benchmark::kSecond);

/// The whole conversation trace, 12,031 requests and 144.8 million tokens, decoded before; chain hashes included.
void replay_conversation(benchmark::State& state) {
  const auto path = conversation(state);
  if (!path) return;
  if (!replays_the_engine(*path)) return state.SkipWithError("the replay differs from the engine's");
  TraceFile trace({.path = *path});
  const std::vector<TraceBatch> batches = decode(trace);
  std::int64_t operations = 0;
  for (auto _ : state) operations += simulate(align(state.range(0), state.range(1)), {}, batches).pool.operations();
  report_operations(state, operations);
}
BENCHMARK(replay_conversation)
    ->ArgNames({"block", "blocks"})
    ->Args({528, 20000})
    ->Args({528, 1000000})
    ->Args({16, 1000000})
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(5)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("best", best);

/// The same in a closed loop with decode.
void closed_loop_conversation(benchmark::State& state) {
  const auto path = conversation(state);
  if (!path) return;
  TraceFile trace({.path = *path});
  const std::vector<TraceBatch> batches = decode(trace);
  SimulationStats stats;
  for (auto _ : state)
    stats = simulate(align(528, 20000), {.kind = DriverKind::closed_loop, .in_flight = state.range(0)}, batches);
  state.counters["steps"] = static_cast<double>(stats.steps);
  state.counters["generated"] = static_cast<double>(stats.generated_tokens);
  state.counters["preemptions"] = static_cast<double>(stats.preemptions);
}
BENCHMARK(closed_loop_conversation)->ArgName("in_flight")->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

/// Hits and evictions of many requests through a dual pool with a radix tree.
struct TreeSums {
  std::int64_t hit_tokens = 0, chunks = 0, evicted_tokens = 0, evicted_states = 0;
};

TreeSums replay_tree(const TreeSettings& settings, const std::vector<TraceBatch>& batches) {
  TreeSums sums;
  TreeReplay replay(settings);
  for (const TraceBatch& batch : batches) {
    for (const TraceRequest& request : batch.requests) {
      const TreeRecord& record = replay.run(request, batch.prompt(request));
      sums.hit_tokens += record.hit_tokens;
      sums.chunks += std::ssize(record.chunks);
    }
  }
  sums.evicted_tokens = replay.tree().evictions().tokens;
  sums.evicted_states = replay.tree().evictions().states;
  return sums;
}

/// Sums of tests/data/sglang-0.5.23/simulator/radix_replay_eb_p1_c8192_397B.csv.gz.
bool replays_the_tree(const std::string& path) {
  TraceFile trace({.path = path, .max_requests = 2000});
  const TreeSums sums = replay_tree({.token_slots = 1'477'030, .state_slots = 210}, decode(trace));
  return sums.hit_tokens == 1367168 && sums.chunks == 4372 && sums.evicted_tokens == 24213952 &&
         sums.evicted_states == 4157;
}

/// The whole conversation trace through the radix tree of a dual pool at page 1, extra_buffer: the pools of
/// Qwen3.5-397B on 40 GiB, and pools of a thousand times as much, where nothing is evicted.
void replay_conversation_tree(benchmark::State& state) {
  const auto path = conversation(state);
  if (!path) return;
  if (!replays_the_tree(*path)) return state.SkipWithError("the replay differs from the engine's");
  TraceFile trace({.path = *path});
  const std::vector<TraceBatch> batches = decode(trace);
  TreeSettings settings{.token_slots = 1'477'030 * state.range(1), .state_slots = 210 * state.range(1)};
  settings.chunk_tokens = state.range(0);
  settings.decodes = state.range(2) != 0;
  std::int64_t requests = 0;
  for (auto _ : state) {
    const TreeSums sums = replay_tree(settings, batches);
    state.counters["hit_tokens"] = static_cast<double>(sums.hit_tokens);
    for (const TraceBatch& batch : batches) requests += std::ssize(batch.requests);
  }
  state.SetItemsProcessed(requests);
}
BENCHMARK(replay_conversation_tree)
    ->ArgNames({"chunk", "pools", "decodes"})
    ->Args({8192, 1, 0})
    ->Args({2048, 1, 0})
    ->Args({8192, 1, 1})
    ->Args({2048, 1000, 0})
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(5)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("best", best);

void decode_conversation(benchmark::State& state) {
  const auto path = conversation(state);
  if (!path) return;
  std::int64_t requests = 0;
  for (auto _ : state) {
    TraceFile trace({.path = *path});
    for (TraceBatch batch; trace.next(batch);) requests += std::ssize(batch.requests);
  }
  state.SetItemsProcessed(requests);
}
BENCHMARK(decode_conversation)->Unit(benchmark::kMillisecond);

/// Cost per block operation as pool and trace grow by powers of ten; generating the requests is not timed.
void block_operations(benchmark::State& state) {
  std::int64_t operations = 0;
  for (auto _ : state) {
    SyntheticTrace trace({.num_requests = state.range(1)});
    Simulation simulation(align(528, state.range(0)));
    double seconds = 0;
    for (TraceBatch batch; trace.next(batch);) {
      const auto start = std::chrono::steady_clock::now();
      simulation.consume(batch);
      seconds += seconds_since(start);
    }
    const auto start = std::chrono::steady_clock::now();
    const SimulationStats stats = simulation.finish();
    state.SetIterationTime(seconds + seconds_since(start));
    if (stats.requests != state.range(1)) return state.SkipWithError("not all requests were simulated");
    operations += stats.pool.operations();
  }
  report_operations(state, operations);
}
BENCHMARK(block_operations)
    ->ArgNames({"blocks", "requests"})
    ->ArgsProduct({{1000, 10000, 100000, 1000000}, {1000000}})
    ->ArgsProduct({{10000}, {1000, 10000, 100000}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Four caches over one generated trace: one thread against two.
void sweep_speedup(benchmark::State& state) {
  const auto timed = [](std::int64_t threads, std::vector<SimulationStats>& stats) {
    SyntheticTrace trace({.num_requests = 100'000});
    SweepSpec sweep{.threads = threads};
    for (const std::int64_t block : {272, 528, 1056, 2096})
      sweep.simulations.push_back({align(block, 10'560'000 / block, 3)});
    const auto start = std::chrono::steady_clock::now();
    stats.clear();
    for (const ReplayedIndex& cache : run_sweep(trace, sweep).caches) stats.push_back(cache.blocks());
    return seconds_since(start);
  };
  double one = 1e9, two = 1e9;
  for (auto _ : state) {
    std::vector<SimulationStats> alone, together;
    one = std::min(one, timed(1, alone));
    two = std::min(two, timed(2, together));
    if (alone != together) return state.SkipWithError("two threads give other results than one");
  }
  state.counters["one_thread_s"] = one;
  state.counters["two_threads_s"] = two;
  state.counters["speedup"] = one / two;
}
BENCHMARK(sweep_speedup)->Iterations(5)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
