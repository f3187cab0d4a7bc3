// Requests that an engine refuses for their length, and outputs that it ends there.
#include <doctest/doctest.h>

#include "simulator/losses/token_exact_bound.h"
#include "simulator/sweep.h"
#include "simulator/trace/trace_spec.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CacheGeometry taking(std::optional<std::int64_t> max_model_len) {
  return {.block_size_tokens = 4, .num_blocks = 100, .state_groups = 1, .mode = CacheMode::align,
          .scheduler = {.max_model_len = max_model_len}};
}

std::vector<RequestStatus> statuses(const Run& run) {
  std::vector<RequestStatus> list(run.records.size());
  for (const RequestRecord& record : run.records) list[static_cast<std::size_t>(record.index)] = record.status;
  return list;
}

}  // namespace

TEST_CASE(
    "golden: a prompt of max_model_len tokens leaves no room for an output and is refused, one token less is not") {
  using enum RequestStatus;
  const TraceBatch batch = batch_of({{{1, 9}}, {{1, 10}}, {{1, 11}}, {{1, 9}}}, 1);
  for (const DriverKind kind : {DriverKind::one_at_a_time, DriverKind::closed_loop, DriverKind::open_loop}) {
    const DriverSpec driver{.kind = kind, .cost = {.per_prefill_token = 1}};
    const Run limited = run(taking(10), driver, batch);
    CHECK(statuses(limited) == std::vector{ok, too_long, too_long, ok});
    CHECK(limited.stats.requests == 4);
    CHECK(limited.stats.too_long == 2);
    CHECK(limited.stats.refused == 0);
    CHECK(limited.stats.prompt_tokens == 18);
    CHECK(limited.stats.taken_prompt_tokens == 18);
    CHECK(limited.stats.hit_tokens == 8);
    CHECK(run(taking({}), driver, batch).stats.too_long == 0);
  }
}

TEST_CASE("law: the numbers are those of the trace without the requests that are too long") {
  Dice dice(3);
  for (int i = 0; i < 100; ++i) {
    CacheGeometry geometry = random_geometry(dice);
    geometry.scheduler.max_model_len = dice.roll(8, 30);
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 20, 40, 0);
    TraceBatch taken{{}, batch.runs};
    for (const TraceRequest& request : batch.requests)
      if (request.input_length < *geometry.scheduler.max_model_len) taken.requests.push_back(request);
    const SimulationStats with = run(geometry, driver, batch).stats;
    const SimulationStats without = run(geometry, driver, taken).stats;
    CHECK(with.too_long == std::ssize(batch.requests) - std::ssize(taken.requests));
    CHECK(with.hit_tokens == without.hit_tokens);
    CHECK(with.prompt_tokens == without.prompt_tokens);
    CHECK(with.pool.evictions == without.pool.evictions);
    CHECK(with.refused == without.refused);
  }
}

TEST_CASE("edge: an output ends at max_model_len, prompt included") {
  const DriverSpec driver{.kind = DriverKind::closed_loop, .cost = {.per_prefill_token = 1}};
  const SimulationStats stats = run(taking(10), driver, batch_of({{{1, 6}}, {{2, 6}}}, 7)).stats;
  CHECK(stats.generated_tokens == 2 * 4);
  CHECK(stats.cut_outputs == 2);
  CHECK(run(taking(13), driver, batch_of({{{1, 6}}}, 7)).stats.cut_outputs == 0);
  CHECK(run(taking(10), {}, batch_of({{{1, 6}}}, 7)).stats.cut_outputs == 0);  // prefill only
}

TEST_CASE("law: the token-exact bound of a cache is of the prompts that it takes") {
  const TraceSpec trace{.prompts = {{.tokens = 40, .copies = 3}, {.tokens = 90, .copies = 2}}};
  SweepSpec sweep{.upper_bounds = true};
  for (const std::int64_t limit : {41, 91, 41}) sweep.simulations.push_back({.cache = taking(limit)});
  const SweepResult result = run_sweep(*open_trace(trace), sweep);
  std::vector<std::int64_t> exact;
  for (const ReplayedIndex& cache : result.caches) exact.push_back(cache.token_exact_hit_tokens.value());
  CHECK(exact == std::vector<std::int64_t>{2 * 39, 2 * 39 + 89, 2 * 39});
  CHECK(result.caches[0].counts().too_long == 2);
  CHECK(result.caches[0].unlimited->too_long == 2);
}
