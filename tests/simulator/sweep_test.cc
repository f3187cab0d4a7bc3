#include "simulator/sweep.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "simulator/trace/synthetic_trace.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

SweepSpec five_geometries(std::int64_t threads) {
  SweepSpec spec{.upper_bounds = true, .threads = threads};
  for (const std::int64_t block : {272, 528, 1056, 2096, 4192})
    spec.simulations.push_back({CacheGeometry{.block_size_tokens = block, .num_blocks = 2000000 / block,
                                              .state_groups = 3, .mode = CacheMode::align}});
  spec.simulations[1].driver = {.kind = DriverKind::closed_loop, .in_flight = 8};
  spec.simulations[2].driver = {.kind = DriverKind::open_loop, .cost = {1e-5, 1e-3, 1e-6}};
  return spec;
}

/// A source that fails in its second batch.
class BrokenSource : public TraceSource {
 public:
  bool next(TraceBatch& batch) override {
    if (++batches_ == 2) throw InputError("the trace broke off");
    batch = copies_of({{1, 100}}, 10);
    return true;
  }
  TraceProgress progress() const override { return {}; }

 private:
  int batches_ = 0;
};

}  // namespace

TEST_CASE("law: a sweep gives the same numbers with any number of threads, and as single simulations") {
  const SyntheticTraceSpec traffic{.num_requests = 5000};
  std::vector<SweepResult> results;
  for (const std::int64_t threads : {1, 2, 5}) {
    SyntheticTrace trace(traffic);
    results.push_back(run_sweep(trace, five_geometries(threads)));
  }
  for (const SweepResult& result : results) {
    CHECK(result.requests == 5000);
    for (std::size_t i = 0; i < result.caches.size(); ++i) {
      CHECK(result.caches[i].index == results[0].caches[i].index);
      CHECK(result.caches[i].unlimited == results[0].caches[i].unlimited);
      CHECK(result.caches[i].token_exact_hit_tokens == results[0].caches[i].token_exact_hit_tokens);
    }
    CHECK(result.prompt_tokens == results[0].prompt_tokens);
  }
  const SweepSpec spec = five_geometries(1);
  for (std::size_t i = 0; i < spec.simulations.size(); ++i) {
    SyntheticTrace trace(traffic);
    Simulation alone(std::get<CacheGeometry>(spec.simulations[i].cache), spec.simulations[i].driver);
    for (TraceBatch batch; trace.next(batch);) alone.consume(batch);
    CHECK(alone.finish() == results[0].caches[i].blocks());
    CHECK(results[0].caches[i].blocks().hit_tokens <= results[0].caches[i].token_exact_hit_tokens);
  }
}

TEST_CASE("edge: records of each simulation come in the order in which its requests end") {
  SweepSpec spec = five_geometries(3);
  std::vector<std::vector<RequestRecord>> records(spec.simulations.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    spec.simulations[i].on_record = [&records, i](const RecordView& record, const ReuseLoss*) {
      records[i].push_back(*std::get<const RequestRecord*>(record));
    };
  SyntheticTrace trace({.num_requests = 3000});
  run_sweep(trace, spec);
  for (const auto& of_one : records) CHECK(of_one.size() == 3000);
  for (std::int64_t i = 0; i < 3000; ++i) REQUIRE(records[0][i].index == i);
}

TEST_CASE("fault: an error in the trace, in a simulation or in a callback ends the sweep with its message") {
  BrokenSource broken;
  CHECK_THROWS_WITH_AS(run_sweep(broken, five_geometries(3)), doctest::Contains("the trace broke off"), InputError);
  SweepSpec spec = five_geometries(3);
  spec.simulations[4].on_record = [](const RecordView&, const ReuseLoss*) { throw ResourceError("the disk is full"); };
  SyntheticTrace trace({.num_requests = 3000});
  CHECK_THROWS_WITH_AS(run_sweep(trace, spec), doctest::Contains("the disk is full"), ResourceError);
}

TEST_CASE("edge: an empty trace, an empty sweep, unusable settings") {
  SyntheticTrace nothing({.num_requests = 0});
  CHECK(run_sweep(nothing, five_geometries(2)).caches[0].counts().requests == 0);
  SyntheticTrace trace({.num_requests = 10});
  CHECK_THROWS_AS(run_sweep(trace, {}), SpecError);
  SweepSpec spec = five_geometries(-1);
  CHECK_THROWS_AS(run_sweep(trace, spec), SpecError);
  // No number of threads stands for every core.
  CHECK(run_sweep(trace, five_geometries(0)).requests == 10);
  spec = five_geometries(1);
  std::get<CacheGeometry>(spec.simulations[0].cache).block_size_tokens = 0;
  CHECK_THROWS_AS(run_sweep(trace, spec), SpecError);
}

TEST_CASE("edge: progress knows rate and remaining time") {
  const SweepProgress half{.requests = 500, .fraction = 0.5, .elapsed_seconds = 2};
  CHECK(half.requests_per_second() == 250);
  CHECK(half.remaining_seconds() == 2);
  CHECK(!SweepProgress{}.remaining_seconds());
}
