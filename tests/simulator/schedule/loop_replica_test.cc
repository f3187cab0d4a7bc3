// Replays by a clock: laws between the two that know time, and between those with time and without.
#include "simulator/schedule/loop_replica.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "simulator/cache_replay.h"
#include "simulator/schedule/trace_driver.h"
#include "tests/clock/clock_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Requests at random times, of which some begin alike.
TraceBatch random_trace() {
  TraceBatch batch;
  double now = 0;
  for (int i = *rc::gen::inRange(1, 25); i > 0; --i) {
    now += *rc::gen::inRange(0, 400) / 1000.0;
    const auto shared = *rc::gen::inRange<std::int64_t>(1, 2000);
    const auto own = *rc::gen::inRange<std::int64_t>(1, 2000);
    const auto first = *rc::gen::inRange<std::uint64_t>(1, 4);
    add_request(batch, {{first, shared}, {static_cast<std::uint64_t>(100 + i), own}},
                *rc::gen::inRange<std::int64_t>(1, 40), now);
  }
  return batch;
}

/// Pools that everything fits, one group of attention, one of states.
CacheGeometry roomy() {
  return {.block_size_tokens = 64, .num_blocks = 100000, .attention_groups = 1, .state_groups = 1,
          .mode = CacheMode::align, .max_num_batched_tokens = 2048};
}

DriverSpec timed(DriverKind kind, const GpuSpeed& gpu = some_gpu()) {
  DriverSpec driver{.kind = kind, .in_flight = 4};
  driver.clock = std::make_shared<const StepClock>(some_hybrid(), ClockSplit{}, gpu, Coefficients{});
  driver.loop = {.budget = 2048};
  return driver;
}

using Founds = std::vector<std::optional<std::int64_t>>;  // (request) tokens of it that were found

ServedTimes served(const DriverSpec& driver, const TraceBatch& batch, const Founds& found) {
  LoopReplica replica(
      driver,
      [&](const TraceRequest& request, std::span<const TokenRun>) {
        const std::optional<std::int64_t>& tokens = found.at(std::size_t(request.index));
        return tokens ? std::optional(FoundPrefix{*tokens}) : std::nullopt;
      },
      false);
  TraceDriver trace(driver, {&replica});
  trace.consume(batch);
  trace.finish();
  return replica.times();
}

bool alike(double a, double b) { return std::abs(a - b) <= 0.02 * std::max(a, b) + 1e-9; }

}  // namespace

TEST_CASE("law: hits of a closed loop do not depend on the clock") {
  CHECK(rc::check([] {
    const TraceBatch batch = random_trace();
    for (const DriverKind kind : {DriverKind::one_at_a_time, DriverKind::closed_loop}) {
      DriverSpec free = timed(kind);
      free.clock = nullptr;
      const Run without = run(roomy(), free, batch), with = run(roomy(), timed(kind), batch);
      RC_ASSERT(with.stats.hit_tokens == without.stats.hit_tokens);
      RC_ASSERT(with.stats.steps == without.stats.steps);
    }
  }));
}

TEST_CASE("law: a replay without a cache and one whose pools find nothing take the same time") {
  CHECK(rc::check([] {
    TraceBatch batch = random_trace();
    CacheGeometry nothing = roomy();
    nothing.mode = CacheMode::none;
    for (const DriverKind kind : {DriverKind::open_loop, DriverKind::closed_loop}) {
      const Run blocks = run(nothing, timed(kind), batch);
      const ServedTimes loop = served(timed(kind), batch, Founds(batch.requests.size(), 0));
      RC_ASSERT(blocks.stats.hit_tokens == 0);
      RC_ASSERT(loop.requests() == blocks.stats.times->requests());
      RC_ASSERT(loop.generated_tokens() == blocks.stats.times->generated_tokens());
      RC_ASSERT(alike(loop.first_token.mean(), blocks.stats.times->first_token.mean()));
      RC_ASSERT(alike(loop.end_to_end.mean(), blocks.stats.times->end_to_end.mean()));
      RC_ASSERT(alike(loop.spent().total(), blocks.stats.times->spent().total()));
    }
  }));
}

TEST_CASE("law: a user who thinks is served as one who does not, and the pauses lie between the requests") {
  CHECK(rc::check([] {
    const TraceBatch batch = random_trace();
    const Founds none(batch.requests.size(), 0);
    DriverSpec driver = timed(DriverKind::closed_loop);
    driver.in_flight = 1;
    const ServedTimes plain = served(driver, batch, none), blocks = *run(roomy(), driver, batch).stats.times;
    driver.think_seconds = *rc::gen::inRange(1, 100) / 4.0;
    const double pauses = driver.think_seconds * static_cast<double>(batch.requests.size() - 1);
    const ServedTimes thinking = served(driver, batch, none), with_blocks = *run(roomy(), driver, batch).stats.times;
    RC_ASSERT(std::abs(thinking.span_seconds() - plain.span_seconds() - pauses) <= 1e-6 * (1 + pauses));
    RC_ASSERT(std::abs(with_blocks.span_seconds() - blocks.span_seconds() - pauses) <= 1e-6 * (1 + pauses));
    RC_ASSERT(alike(thinking.end_to_end.mean(), plain.end_to_end.mean()));
    RC_ASSERT(alike(with_blocks.end_to_end.mean(), blocks.end_to_end.mean()));
    RC_ASSERT(with_blocks.queueing.mean() == 0);
  }));
}

TEST_CASE("law: the more users think, the fewer run beside each other") {
  CHECK(rc::check([] {
    const TraceBatch batch = random_trace();
    DriverSpec driver = timed(DriverKind::closed_loop);
    const Run busy = run(roomy(), driver, batch);
    driver.think_seconds = 1e6;  // Only the first request of each user can meet another one.
    const Run idle = run(roomy(), driver, batch);
    RC_ASSERT(idle.stats.times->end_to_end.mean() <= busy.stats.times->end_to_end.mean() * (1 + 1e-9));
    RC_ASSERT(idle.stats.requests == busy.stats.requests);
  }));
}

TEST_CASE("law: requests alone are served faster on a faster machine and where more of them was found") {
  CHECK(rc::check([] {
    const TraceBatch batch = random_trace();
    GpuSpeed faster = some_gpu();
    faster.memory_bytes_per_second *= 2;
    faster.bf16_flops *= 2;
    const Founds none(batch.requests.size(), 0);
    Founds half;
    for (const TraceRequest& request : batch.requests) half.push_back(request.input_length / 2);
    const DriverKind alone = DriverKind::one_at_a_time;
    const double before = served(timed(alone), batch, none).end_to_end.mean();
    RC_ASSERT(served(timed(alone, faster), batch, none).end_to_end.mean() < before);
    RC_ASSERT(served(timed(alone), batch, half).end_to_end.mean() < before);
  }));
}

TEST_CASE("law: times of a trace at twice the rate are those of a trace that comes twice as fast") {
  CHECK(rc::check([] {
    const TraceBatch batch = random_trace();
    TraceBatch faster = batch;
    for (TraceRequest& request : faster.requests) request.arrival_seconds /= 2;
    DriverSpec doubled = timed(DriverKind::open_loop);
    doubled.rate = 2;
    RC_ASSERT(*run(roomy(), doubled, batch).stats.times ==
              *run(roomy(), timed(DriverKind::open_loop), faster).stats.times);
  }));
}

TEST_CASE("edge: a prompt found whole still has its last token computed") {
  TraceBatch batch;
  add_request(batch, {{1, 1000}}, 5, 0);
  const ServedTimes times = served(timed(DriverKind::open_loop), batch, {1000});
  CHECK(times.found_tokens() == 999);
  CHECK(times.first_token.mean() > 0);
}

TEST_CASE("edge: who waits for a request that is not served goes on") {
  TraceBatch batch;
  add_request(batch, {{1, 1000}}, 5, 0);
  batch.requests[0].num_dependents = 1;
  add_request(batch, {{1, 1000}}, 5, 1);
  batch.requests[1].first_dependency = std::ssize(batch.dependencies);
  batch.requests[1].num_dependencies = 1;
  batch.dependencies.push_back({.request = 0, .delay_seconds = 3});
  CHECK(served(timed(DriverKind::open_loop), batch, {std::nullopt, 0}).requests() == 1);
}
