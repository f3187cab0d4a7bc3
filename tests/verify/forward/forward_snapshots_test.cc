// Forward passes through the pools and the tree with snapshots of TensorRT-LLM.
#include "verify/forward/forward_snapshots.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/group_settings.h"
#include "planner/plan.h"
#include "tests/verify/forward/forward_checks.h"
#include "verify/forward/forward_snapshot_case.h"
#include "verify/forward/scaled_engine.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec tensorrt() { return engine_of_rules(rules_of_tensorrt_llm); }

ForwardReport run_snapshots(const ModelSpec& model, const EngineSpec& engine = tensorrt(),
                            std::optional<ForwardFault> fault = {}, std::vector<ForwardCase> cases = {}) {
  return unscaled_report(model, engine, fault, std::move(cases));
}

/// Every case passed with block reuse; without it only what finds nothing again has something to show.
void check_snapshots_passed(const ForwardReport& report, bool partial_reuse = true) {
  CHECK(report.passed());
  CHECK(report.results.size() == 2 * forward_cases_of(rules_of_tensorrt_llm).size());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    CAPTURE(to_string(result.mode));
    const bool applies = result.forward_case == ForwardCase::fresh_blocks ||
                         (result.mode == CacheMode::align &&
                          (partial_reuse || result.forward_case != ForwardCase::copy_on_write));
    CHECK_MESSAGE(result.status == (applies ? ForwardStatus::passed : ForwardStatus::does_not_apply), result.message);
    CHECK((result.tokens > 0) == applies);
    CHECK(result.tolerance < 0.1);
  }
}

/// A plan as the cases run it, with all that a run needs.
struct SnapshotBench {
  ModelSpec model = four_layers();
  CachePlan plan;
  std::shared_ptr<const ForwardNetwork> network;
  ForwardReferences references;
  std::vector<BoundView> views;
  std::vector<AttentionBackend> backends{AttentionBackend::paged};
  ForwardSetting setting;

  SnapshotBench()
      : plan(plan_with(model)),
        network(std::make_shared<const ForwardNetwork>(make_network(model, plan, 16, 1))),
        references(network),
        views(bind_views(plan)),
        setting{plan, *network, references, views, backends} {
    setting.snapshots = snapshot_case_settings(plan);
  }

  static CachePlan plan_with(const ModelSpec& model) {
    EngineSpec engine = scaled_engine(model, tensorrt(), CacheMode::align, 0);
    engine.num_blocks = most_forward_snapshot_ids;
    return make_plan(model, engine, {.max_model_lens = {1}});
  }

  ForwardResult run(ForwardCase forward_case) { return run_forward_case(forward_case, setting); }
};

}  // namespace

TEST_CASE("law: every family computes through a tree with snapshots what it computes without") {
  for (const RecurrentSpec& family : small_families()) {
    CAPTURE(family_name(family));
    check_snapshots_passed(run_snapshots(four_layers(DType::fp32, family)));
  }
}

TEST_CASE("law: snapshots of narrow states, with a latent, attention of several kinds of heads, and either eviction") {
  EngineSpec narrow = tensorrt(), whole = tensorrt(), before = tensorrt();
  narrow.ssm_dtype = DType::bf16;
  whole.own.set(group_key::enable_partial_reuse, false);
  before.own.set(group_key::prunes_stale_leaves, true);
  check_snapshots_passed(run_snapshots(four_layers(DType::bf16), narrow));
  check_snapshots_passed(run_snapshots(four_layers(), whole), false);
  check_snapshots_passed(run_snapshots(four_layers(), before));
  const AttentionSpec mla{AttentionKind::mla, 4, 1, 24, 16, 0};
  check_snapshots_passed(run_snapshots(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, mla, 4)));
  ModelSpec several = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, {AttentionKind::full, 4, 2, 16, 16, 0}, 6);
  several.layers[3].attention->kv_heads = 4;
  check_snapshots_passed(run_snapshots(several));
}

TEST_CASE("edge: a host is not computed with, and every case says what to leave out") {
  EngineSpec hosted = tensorrt();
  hosted.own.set(group_key::host_cache_size, std::int64_t(1) << 30);
  for (const ForwardResult& result : run_snapshots(four_layers(), hosted).results)
    CHECK(result.message.ends_with("not computed with; leave engine.host_cache_size out"));
}

TEST_CASE("law: the first manager is not run, and the report says the pools of the second") {
  EngineSpec first = tensorrt();
  first.own.set(group_key::use_kv_cache_manager_v2, false);
  for (const ForwardResult& result : run_snapshots(four_layers(), first).results)
    CHECK(result.message == "how the first manager finds prefixes is not known");
  const SnapshotBench bench;
  const ForwardReport report = run_snapshots(four_layers(), tensorrt(), {}, {ForwardCase::resume});
  REQUIRE(report.snapshots.has_value());
  CHECK(report.snapshots->state_bytes == bench.plan.arenas[1].bytes_per_id);
  CHECK(report.block_size_tokens == snapshot_case_block_tokens);
}

TEST_CASE("fault: every fault of a tree with snapshots is found in every family, by the case that owns it") {
  check_every_fault(tensorrt(), small_families(), 2, [](ForwardFault fault, const ForwardResult& result) {
    return owner_of(info_of(fault)) == ForwardCase::fresh_blocks || result.mode == CacheMode::align;
  });
}

TEST_CASE("fault: what is planted under snapshots is found in no case by chance: it is wrong, or it has no place") {
  check_none_found_by_chance(tensorrt(), true);
}

TEST_CASE("fault: a case of snapshots whose event did not take place has failed, though every output is right") {
  SnapshotBench bench;
  for (const ForwardCase forward_case : forward_cases_of(rules_of_tensorrt_llm)) {
    CAPTURE(to_string(forward_case));
    CHECK(bench.run(forward_case).status == ForwardStatus::passed);
  }
  // Nothing ends inside of a block, and one slot keeps no snapshot.
  bench.setting.snapshots->states = 1;
  for (const ForwardCase forward_case : {ForwardCase::resume, ForwardCase::branch, ForwardCase::copy_on_write,
                                         ForwardCase::chunks, ForwardCase::copy_on_match, ForwardCase::eviction}) {
    CAPTURE(to_string(forward_case));
    const ForwardResult result = bench.run(forward_case);
    CHECK(result.status == ForwardStatus::failed);
    CHECK(result.message.starts_with("the case shows nothing: "));
    CHECK(result.times_allowed() < 1);
  }
}

TEST_CASE("fault: a prompt that goes on from a snapshot without its K and V is wrong from the token behind it on") {
  const ForwardReport report =
      run_snapshots(four_layers(), tensorrt(), ForwardFault::lost_pages, {ForwardCase::eviction});
  REQUIRE(report.results.size() == 2);
  const ForwardResult& result = report.results.back();
  REQUIRE(result.mode == CacheMode::align);
  // The first prompt left a snapshot behind its 44 tokens, the second one of other tokens behind 40. Both have lost K
  // and V when the third one runs, which begins with all of the first.
  CAPTURE(result.message);
  CHECK(result.message.starts_with("request 2, token 44, "));
}

TEST_CASE("edge: a prompt of the cases is computed in chunks of 64 tokens") {
  const SnapshotBench bench;
  SnapshotSettings settings = *bench.setting.snapshots;
  settings.points = {};  // no snapshot ends a chunk
  using Steps = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [tokens, steps] : {Steps{64, 1}, Steps{65, 2}}) {
    ForwardResult result;
    SnapshotRun run(bench.setting, settings, result);
    run.run({{{1, tokens}}});
    run.count();
    CHECK(run.num_steps() == steps);
    CHECK_MESSAGE(result.status == ForwardStatus::passed, result.message);
  }
}

TEST_CASE("edge: a prompt or a decode that the pools do not hold is said") {
  const SnapshotBench bench;
  SnapshotSettings settings = *bench.setting.snapshots;
  settings.blocks = 2;
  const auto message_of = [&](const SlotPrompt& request) {
    ForwardResult result;
    SnapshotRun run(bench.setting, settings, result);
    run.run(request);
    run.count();
    return result.message;
  };
  CHECK(message_of({{{1, 30}}, {101, 2}}) == "");
  CHECK(message_of({{{1, 30}}, {101, 3}}) == "the case shows nothing: request 0 did not fit");
  CHECK(message_of({{{1, 33}}}) == "the case shows nothing: request 0 did not fit");
}

TEST_CASE("edge: cases and faults that a tree with snapshots does not have are refused with those that it has") {
  CHECK_THROWS_WITH_AS(run_snapshots(four_layers(), tensorrt(), {}, {ForwardCase::preemption}),
                       "--case preemption: requests of TensorRT-LLM go through a tree with snapshots, which has no "
                       "such case; take one of resume, branch, copy-on-write, fresh-blocks, recycling, chunks, "
                       "copy-on-match, tombstone, eviction",
                       InputError);
  CHECK_THROWS_WITH_AS(run_snapshots(four_layers(), tensorrt(), ForwardFault::wrong_prefix),
                       "--inject wrong-prefix: requests of TensorRT-LLM go through a tree with snapshots, which has no "
                       "such fault; take one of skip-zeroing, missed-page-copy, shared-state-slot, wrong-state-token, "
                       "stale-checkpoint, foreign-snapshot, lost-pages",
                       InputError);
  CHECK_THROWS_WITH_AS(run_snapshots(four_layers(), {}, ForwardFault::lost_pages),
                       doctest::Contains("--inject lost-pages: requests of vLLM"), InputError);
}
