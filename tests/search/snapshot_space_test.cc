// Two pools under a tree with snapshots, searched, against settings planned and replayed by hand.
#include "search/snapshot_space.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "simulator/snapshots/plan_snapshots.h"
#include "simulator/snapshots/snapshot_replay.h"
#include "simulator/trace/trace_spec.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

RecommendSpec snapshots_of_397b(const TraceSpec& trace, std::int64_t memory_bytes = 8 * gib) {
  RecommendSpec spec;
  spec.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  spec.engine = {.rules = &rules_of_tensorrt_llm, .tensor_parallel = 2, .strategy = Strategy::pool_groups,
                 .cache_mode = CacheMode::align, .memory_bytes = memory_bytes};
  spec.engine.own.set(group_key::max_batch_size, 16);
  spec.limits.max_model_lens = {16384};
  spec.at_length = 16384;
  spec.open_trace = [trace] { return open_trace(trace); };
  return spec;
}

std::int64_t hits_by_hand(const RecommendSpec& spec, const EngineSpec& engine) {
  SnapshotReplay replay(snapshot_settings_of(make_plan(spec.model, engine, spec.limits)));
  std::int64_t hits = 0;
  TraceBatch batch;
  for (const auto trace = spec.open_trace(); trace->next(batch);)
    for (const TraceRequest& request : batch.requests)
      if (request.input_length < spec.limits.max_model_lens.front())
        hits += replay.run(request, batch.prompt(request)).hit_tokens;
  return hits;
}

}  // namespace

TEST_CASE("law: every candidate of snapshots finds what its plan, replayed by hand, finds") {
  const RecommendSpec spec = snapshots_of_397b({.max_requests = 120});
  const Recommendation result = recommend(spec);
  CHECK(result.search == SearchKind::exhaustive);
  CHECK(result.planned_layouts == 4 * 4 * 4);
  CHECK(result.planned_layouts == result.combinations + result.merged_layouts + std::ssize(result.impossible));
  REQUIRE(result.default_candidate.has_value());
  for (const Candidate& candidate : result.candidates) {
    const PlannedLayout& layout = result.layout_of(candidate);
    CHECK(candidate.hit_tokens == hits_by_hand(spec, layout.engine));
    CHECK(candidate.objectives.concurrency ==
          capacity_at(layout.plan, spec.at_length, spec.engine.token_rule).usable_concurrency);
    CHECK((candidate.hit_tokens > 0) <= layout.plan.pool_groups->points.any());
  }
  CHECK(result.candidates[result.pick].hit_tokens > 0);
  CHECK(result.candidates[*result.default_candidate].hit_tokens == 0);
}

TEST_CASE("law: what the engine is set is a candidate without a change, other places and intervals are one each") {
  RecommendSpec spec = snapshots_of_397b({.prompts = {{.tokens = 1000, .copies = 3}}});
  spec.engine.own.set(group_key::offsets_from_end, {0, 64});
  spec.engine.own.set(group_key::mamba_state_cache_interval, 1024);
  const SnapshotSpace space(spec);
  CHECK(space.space().snapshots.front() == SnapshotPlaces::end);
  CHECK(space.space().snapshot_intervals == std::vector<std::int64_t>{1024, 0, 512, 2048, 8192});
  std::int64_t unchanged = 0;
  for (const EngineSpec& engine : space.engines()) {
    unchanged += engine == spec.engine;
    const bool at_end = snapshot_places(engine) == SnapshotPlaces::end;
    CHECK(space.changes(engine) ==
          (at_end ? 0 : 1) + (snapshot_points(engine).interval_tokens == 1024 ? 0 : 1) +
              (engine.state_memory_ratio.has_value() ? 1 : 0));
    if (at_end) CHECK(snapshot_points(engine).from_end == std::vector<std::int64_t>{0, 64});
  }
  CHECK(unchanged == 1);
}

TEST_CASE("golden: copies of a prompt are found by an interval, and by nothing at its end") {
  RecommendSpec spec = snapshots_of_397b({.prompts = {{.tokens = 5000, .copies = 4}}});
  spec.space.ratios = {1};
  const Recommendation result = recommend(spec);
  for (const Candidate& candidate : result.candidates) {
    if (!candidate.in_space) continue;
    const std::int64_t interval = result.layout_of(candidate).plan.pool_groups->points.interval_tokens;
    const bool branch = result.layout_of(candidate).plan.pool_groups->points.at_branches;
    CAPTURE(interval);
    CAPTURE(branch);
    if (interval > 0 && interval < 5000) CHECK(candidate.hit_tokens >= 3 * (4999 / interval * interval));
    if (interval == 0 && !branch) CHECK(candidate.hit_tokens == 0);
  }
}

TEST_CASE("edge: what holds no such request at once is refused with the most that any setting holds") {
  RecommendSpec spec = snapshots_of_397b({.prompts = {{.tokens = 1000, .copies = 3}}});
  spec.min_concurrency = 1e5;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("no setting holds 100000 requests of 16384 tokens at once"),
                       InputError);
}
