#include "ask/replay/sweep.h"

#include <doctest/doctest.h>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "planner/plan.h"
#include "tests/ask/asked.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::vector<SweepPoint> all_points(const ScenarioSweep& sweep, const SweepQuestion& question) {
  std::vector<std::int64_t> points;
  for (std::int64_t point = 0; point < sweep.num_points(); ++point) points.push_back(point);
  return SweepWorker(sweep, question).answer(points);
}

}  // namespace

TEST_CASE("law: each point is the plan of its scenario, or says why there is none") {
  const ScenarioSweep sweep(small_file("  tensor_parallel: [1, 3]\n  attention_pack_size: [1, 2]\n"));
  const std::vector<SweepPoint> points = all_points(sweep, {});
  REQUIRE(points.size() == 4);
  SweepReader reader(sweep);
  for (std::size_t i = 0; i < 2; ++i) {
    const Scenario& scenario = reader.at(static_cast<std::int64_t>(i));
    CHECK(points[i].status == PointStatus::ok);
    CHECK(points[i].plan == make_plan(scenario.model, scenario.engine, scenario.limits, {}, PlanDetail::numbers));
    CHECK_FALSE(points[i].verification.has_value());
    CHECK_FALSE(points[i].stats.has_value());
  }
  for (std::size_t i = 2; i < 4; ++i) {
    CHECK(points[i].point == static_cast<std::int64_t>(i));
    CHECK(points[i].status == PointStatus::impossible);
    CHECK(points[i].reason.starts_with("engine.tensor_parallel: "));
    CHECK(points[i].reason.find('\n') == std::string::npos);
    CHECK_FALSE(points[i].plan.has_value());
  }
}

TEST_CASE("law: a replayed point has the counters of simulate, whatever points it is answered with") {
  const ScenarioSweep sweep(small_file("  attention_pack_size: [1, 2]\n",
                                       "simulate: {trace: {max_requests: [30, 40]}, watermark: [0, 2]}\n"));
  const SweepQuestion question{.simulate = true};
  const std::vector<SweepPoint> points = all_points(sweep, question);
  REQUIRE(points.size() == 8);
  for (const SweepPoint& point : points) {
    CAPTURE(point.point);
    if (point.point % 2 == 1) {
      CHECK(point.status == PointStatus::impossible);
      CHECK(point.reason.starts_with("simulate.watermark: "));
      continue;
    }
    SweepReader reader(sweep);
    const Scenario& scenario = reader.at(point.point);
    const std::vector<AnyCache> caches = planned_caches(scenario);
    REQUIRE(point.stats.has_value());
    CHECK(*point.stats == simulate({scenario.simulate, caches}).caches.front().index);
    CHECK(SweepWorker(sweep, question).answer({point.point}).front().stats == point.stats);
  }
}

TEST_CASE("fault: of points that are replayed together one that cannot run is refused alone, first or last") {
  // An open loop whose steps take no time has no times: what its driver is, a replay alone finds out.
  for (const std::string costs : {"0.001, 0", "0, 0.001"}) {
    CAPTURE(costs);
    const ScenarioSweep sweep(small_file(
        "", "simulate: {driver: open_loop, cost: {per_prefill_token: [" + costs + "], per_decode_step: 0}, "
            "trace: {prompts: [{tokens: 3000, copies: 2}]}}\n"));
    const std::vector<SweepPoint> points = all_points(sweep, {.simulate = true});
    REQUIRE(points.size() == 2);
    const bool first_runs = costs.starts_with("0.001");
    const SweepPoint &runs = points[first_runs ? 0 : 1], &refused = points[first_runs ? 1 : 0];
    CHECK(runs.status == PointStatus::ok);
    CHECK(runs.stats.has_value());
    CHECK(refused.status == PointStatus::impossible);
    CHECK(refused.reason.starts_with("simulate.cost: the open loop needs seconds"));
    CHECK_FALSE(refused.stats.has_value());
  }
}

TEST_CASE("fault: a replay ends by what somebody who looks at it throws") {
  const ScenarioSweep sweep(small_file("", "simulate: {trace: {max_requests: 50000000}}\n"));
  struct Enough {};
  int looked = 0;
  const auto look = [&] {
    if (++looked == 2) throw Enough();
  };
  CHECK_THROWS_AS(SweepWorker(sweep, {.simulate = true}).answer({0}, look), Enough);
  CHECK(looked == 2);
}

TEST_CASE("golden: points that are verified passed, or were not asked for") {
  const ScenarioSweep sweep(small_file("  attention_pack_size: [1, 2]\n", "verify: {pack_sizes: [2]}\n"));
  const std::vector<SweepPoint> points = all_points(sweep, {.verify = true});
  CHECK(points.at(0).not_asked);
  CHECK_FALSE(points.at(0).verification.has_value());
  CHECK_FALSE(points.at(1).not_asked);
  CHECK(points.at(1).verification == Verdict::passed);
}

TEST_CASE("law: what is asked of the trace is part of a sweep's identity") {
  const ScenarioSweep sweep(small_file());
  CHECK(sweep_identity(sweep, {}) == sweep.identity());
  CHECK(sweep_identity(sweep, {.verify = true}) == sweep.identity());
  CHECK(sweep_identity(sweep, {.simulate = true}) == sweep.identity() + "\ntrace none");
  // Of a trace file its bytes, whatever its name; more than one piece of them.
  const ScratchFolder scratch;
  const std::string long_text(3 << 20, 'a');
  const auto of_file = [&](const std::string& name, const std::string& text) {
    const ScenarioSweep own(small_file("", "simulate: {trace: {file: \"" + scratch.file(name, text) + "\"}}\n"));
    const std::string identity = sweep_identity(own, {.simulate = true});
    return identity.substr(identity.find("\ntrace "));
  };
  const std::string first = of_file("a.jsonl", long_text + "1");
  CHECK(of_file("b.jsonl", long_text + "1") == first);
  CHECK(of_file("c.jsonl", long_text + "2") != first);
  CHECK(of_file("d.jsonl", "2" + long_text) != first);
  CHECK(of_file("e.jsonl", long_text) != first);
}

TEST_CASE("law: the counts of points add up") {
  PointCounts counts;
  for (const PointStatus status : {PointStatus::ok, PointStatus::ok, PointStatus::impossible, PointStatus::fault}) {
    counts.add(status);
    CHECK(parse_point_status(to_string(status)) == status);
  }
  CHECK(counts == PointCounts{2, 1, 1});
  counts += counts;
  CHECK(counts.total() == 8);
  CHECK_FALSE(parse_point_status("fine").has_value());
}

TEST_CASE("law: the point of an open loop says whether it keeps up, as its replay does, and other points say nothing") {
  const ScenarioSweep sweep(small_file("", "simulate: {trace: {prompts: [{tokens: 300, variants: 9}]}, "
                                           "driver: [open_loop, closed_loop], max_num_seqs: [2, 9]}\n"));
  const std::vector<SweepPoint> points = all_points(sweep, {.simulate = true});
  REQUIRE(points.size() == 4);
  CHECK(points[0].overloaded == true);
  CHECK(points[1].overloaded == false);
  CHECK(!points[2].overloaded.has_value());
  CHECK(!points[3].overloaded.has_value());
}

TEST_CASE("law: a point that hits nothing knows how much its prompts repeat, as simulate does, and only such a point") {
  const std::string start = "model: Qwen3.5-0.8B\nengine: {memory: 1 GiB, cache_mode: [none, align]}\n"
                            "limits: {max_model_len: 4096}\nsimulate: {trace: {prompts: [";
  for (const char* const prompts : {"{tokens: 3000}, {tokens: 2000}", "{tokens: 3000, copies: 2}"}) {
    CAPTURE(prompts);
    const ScenarioSweep sweep(parse_scenario(start + prompts + "]}}\n", "small.yaml"));
    const std::vector<SweepPoint> points = all_points(sweep, {.simulate = true});
    REQUIRE(points.size() == 2);
    SweepReader reader(sweep);
    for (const SweepPoint& point : points) {
      const Scenario& scenario = reader.at(point.point);
      CHECK(point.longest_repeat ==
            simulate({scenario.simulate, planned_caches(scenario)}).caches.front().longest_repeat);
    }
    CHECK(!points[0].longest_repeat);  // mode none keeps no prefixes
    CHECK(points[1].longest_repeat.has_value() == (points[1].blocks()->hit_tokens == 0));
  }
}

TEST_CASE("golden: pieces of a sweep are a quarter of a thread's points, fewer where a point takes long") {
  CHECK(sweep_piece_size({}, 80, 2) == 10);
  CHECK(sweep_piece_size({}, 1'000'000, 2) == 256);
  CHECK(sweep_piece_size({.simulate = true}, 24, 2) == 3);
  CHECK(sweep_piece_size({.simulate = true}, 1000, 2) == 8);
  CHECK(sweep_piece_size({.simulate = true}, 3, 2) == 1);
  CHECK(sweep_piece_size({.verify = true}, 1000, 2) == 1);
}
