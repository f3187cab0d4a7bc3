#include "simulator/schedule/copy_counter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "simulator/blocks/closed_form.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/synthetic_trace.h"

using namespace hybridkv;

TEST_CASE("law: every prompt is counted as a map counts it, whatever lies beside it in the table") {
  std::mt19937_64 random(7);
  std::vector<PrefixKey> keys;
  // Neighbours in the table: their highest bits agree.
  for (int i = 0; i < 40'000; ++i) keys.push_back(i % 4 == 0 ? random() : (random() >> 44) | (random() % 9 << 60));
  CopyCounter counter;
  std::map<PrefixKey, int> times;
  std::int64_t wrong = 0;
  for (int i = 0; i < 120'000; ++i) {
    const PrefixKey key = keys[random() % keys.size()];
    const int naive = ++times[key & ~PrefixKey{3}];
    wrong += counter.count(key) == std::min(naive, CopyCounter::most) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(counter.num_distinct() == times.size());
}

TEST_CASE("law: the copies of a replay are those of a naive set, however many prompts lie between two") {
  std::vector<TraceBatch> batches;
  SyntheticTrace trace({.num_requests = 3000});
  for (TraceBatch batch; trace.next(batch);) batches.push_back(batch);
  // A small cache, whose table of prompts was small; the trace comes twice, so that all of it is copied.
  const CacheGeometry geometry{.block_size_tokens = 528, .num_blocks = 2000, .state_groups = 1};
  Simulation simulation(geometry), quiet(geometry);
  simulation.count_copies();
  std::map<std::pair<std::uint64_t, std::int64_t>, int> seen;
  CopyStats naive;
  for (int round = 0; round < 2; ++round)
    for (const TraceBatch& batch : batches) {
      for (const TraceRequest& request : batch.requests) {
        const int times = ++seen[{batch.prompt(request).back().chain, request.input_length}];
        const auto predicted = predicted_copy_hit(geometry, request.input_length, times);
        if (times < 2 || !predicted) continue;
        ++naive.requests;
        naive.prompt_tokens += request.input_length;
        naive.predicted_tokens += *predicted;
      }
      simulation.consume(batch);
    }
  const SimulationStats stats = simulation.finish();
  CHECK(stats.refused + stats.stalled == 0);
  CHECK(naive.requests > 2900);
  CHECK(stats.copies.requests == naive.requests);
  CHECK(stats.copies.prompt_tokens == naive.prompt_tokens);
  CHECK(stats.copies.predicted_tokens == naive.predicted_tokens);
  for (const TraceBatch& batch : batches) quiet.consume(batch);
  for (const TraceBatch& batch : batches) quiet.consume(batch);
  SimulationStats uncounted = quiet.finish();
  CHECK(uncounted.copies == CopyStats{});
  uncounted.copies = stats.copies;
  CHECK(uncounted == stats);
}
