// Forward passes through the pools and the radix tree of SGLang 0.5.23.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/verify/forward/forward_checks.h"
#include "verify/forward/forward_tree.h"
#include "verify/forward/forward_tree_case.h"
#include "verify/forward/scaled_engine.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec sglang() { return engine_of_rules(rules_of_sglang_0_5_23); }

ForwardReport tree_report(const ModelSpec& model, const EngineSpec& engine = sglang(),
                          std::optional<ForwardFault> fault = {}, std::vector<ForwardCase> cases = {}) {
  return unscaled_report(model, engine, fault, std::move(cases));
}

/// Families that the release runs beside attention.
std::vector<RecurrentSpec> planned_families() {
  std::vector<RecurrentSpec> families = small_families();
  std::erase_if(families, [](const RecurrentSpec& family) { return std::holds_alternative<Mamba1Spec>(family); });
  return families;
}

void check_tree(const ForwardReport& report) {
  CHECK(report.passed());
  for (const ForwardResult& result : report.results) {
    CAPTURE(to_string(result.forward_case));
    CAPTURE(to_string(*result.strategy));
    CAPTURE(result.page_tokens);
    CHECK_MESSAGE(result.status == ForwardStatus::passed, result.message);
    CHECK(result.tokens > 0);
  }
}

/// A tree with room for all cases, without tensors.
TreeSettings tree_settings(std::int64_t page = 1) {
  return {.token_slots = most_forward_tree_tokens(page), .state_slots = most_forward_tree_states, .page = page,
          .chunk_tokens = 64, .model_chunk = 16, .track_interval = 32, .decodes = true, .numbers_pages = true};
}

/// A plan as the cases run it, with pages of one token and a state behind every chunk, and all that a run needs.
struct TreeBench {
  ModelSpec model = four_layers();
  EngineSpec engine = scaled_tree_engine(sglang(), {TreeStrategy::no_buffer, 1});
  CachePlan plan = make_plan(model, engine, {.max_model_lens = {1}});
  std::shared_ptr<const ForwardNetwork> network =
      std::make_shared<const ForwardNetwork>(make_network(model, plan, 16, 1));
  ForwardReferences references{network};
  std::vector<BoundView> views = bind_views(plan);
  std::vector<AttentionBackend> backends{AttentionBackend::paged};
  ForwardSetting setting{plan, *network, references, views, backends};
};

}  // namespace

TEST_CASE("law: every family computes through a radix tree what it computes without, in every strategy and page") {
  for (const RecurrentSpec& family : planned_families()) {
    CAPTURE(family_name(family));
    const ForwardReport report = tree_report(four_layers(DType::fp32, family));
    check_tree(report);
    CHECK(report.results.size() == 5 * forward_cases_of(rules_of_sglang_0_5_23).size());
    for (const ForwardResult& result : report.results) CHECK(result.tolerance < 0.1);  // convolutions are bf16
  }
}

TEST_CASE("law: the same with narrow states, fp8 K and V, a latent, and attention of several kinds of heads") {
  EngineSpec narrow = sglang(), fp8 = sglang();
  narrow.ssm_dtype = DType::bf16;
  fp8.kv_dtype = DType::fp8_e4m3;
  check_tree(tree_report(four_layers(DType::bf16), narrow));
  check_tree(tree_report(four_layers(DType::bf16), fp8));
  const AttentionSpec latent{AttentionKind::mla, 4, 1, 24, 16, 0};
  check_tree(tree_report(small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, latent, 4)));
  ModelSpec several = small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::fp32, {AttentionKind::full, 4, 2, 16, 16, 0}, 6);
  several.layers[3].attention->kv_heads = 4;
  several.layers[4].recurrent = ShortConvSpec{64, 3};
  check_tree(tree_report(several));
}

TEST_CASE("law: what the engine sets is run, and no more: strategy, page, overlap and the lock of the decode") {
  EngineSpec engine = sglang();
  engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::extra_buffer);
  engine.own.set(tree_key::page_size, 64);
  engine.own.set(tree_key::skip_decode_lock, true);
  const ForwardReport large = tree_report(four_layers(), engine);
  check_tree(large);
  CHECK(large.results.size() == forward_cases_of(rules_of_sglang_0_5_23).size());
  for (const ForwardResult& result : large.results) CHECK(result.page_tokens == 64);
  REQUIRE(large.tree.has_value());
  CHECK(large.tree->grid_tokens == std::vector<std::int64_t>{64});
  engine = sglang();
  engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::no_buffer);
  const ForwardReport small_pages = tree_report(four_layers(), engine);
  check_tree(small_pages);
  for (const ForwardResult& result : small_pages.results) CHECK(result.page_tokens == 1);
  engine.own.set(tree_key::page_size, 16);
  CHECK_THROWS_WITH_AS(tree_report(four_layers(), engine),
                       doctest::Contains("engine.page_size: no_buffer needs pages of one token"),
                       SpecError);
  engine = sglang();
  engine.own.set(tree_key::overlap_schedule, false);
  const ForwardReport plain = tree_report(four_layers(), engine);
  check_tree(plain);
  for (const ForwardResult& result : plain.results) CHECK(*result.strategy != TreeStrategy::extra_buffer_lazy);
}

TEST_CASE("edge: pages so large that prompts would be longer than a forward pass runs are said, not run") {
  EngineSpec engine = sglang();
  engine.own.set(tree_key::page_size, 512);
  const ForwardReport report = tree_report(four_layers(), engine);
  CHECK(!report.applies());
  CHECK(report.results.front().message ==
        "states every 512 tokens make prompts of 4096, more than the 2048 that a forward pass runs; take a smaller "
        "engine.page_size");
}

TEST_CASE("fault: every fault of an engine with a radix tree is found, with every strategy that has a place for it") {
  check_every_fault(sglang(), planned_families(), 5, [](ForwardFault fault, const ForwardResult& result) {
    const bool needs_tracking =
        fault == ForwardFault::wrong_tracking_slot || fault == ForwardFault::wrong_state_token;
    return !needs_tracking || *result.strategy != TreeStrategy::no_buffer;
  });
}

TEST_CASE("fault: what is planted is found in no case by chance: it is wrong, or it has no place") {
  check_none_found_by_chance(sglang(), false);
}

TEST_CASE("edge: a stale page counts where it is the first one of its request alone") {
  TreeBench bench;
  bench.setting.fault = ForwardFault::stale_rows;
  TreeSettings settings = tree_case_settings(bench.plan, bench.model, bench.engine);
  settings.chunk_tokens = 16;
  // The tree keeps 41 tokens of the first request, the second has 16 in its first chunk; of its 5 others the last can
  // only go where its first one was, as the tree has that one already.
  settings.token_slots = 41 + 16 + 4;
  ForwardResult result;
  TreeRun run(bench.setting, settings, result);
  run.run({{{1, 1}, {3, 40}}});
  const TreeRecord record = run.run({{{1, 1}, {2, 20}}});
  run.count();
  CHECK(record.kv_match_tokens == 1);
  CHECK(record.hit_tokens == 0);
  CHECK(record.evicted_tokens == 0);
  CHECK(result.planted == 1);
  CHECK(result.times_allowed() > 1);
}

TEST_CASE("edge: cases and faults that a release does not have are refused with those that it has") {
  CHECK_THROWS_WITH_AS(tree_report(four_layers(), sglang(), {}, {ForwardCase::drafts}),
                       "--case drafts: requests of SGLang 0.5.23 go through a radix tree, which has no such case; take "
                       "one of chunks, copy-on-match, branch, tombstone, eviction, decode-state, fresh-blocks, "
                       "recycling",
                       InputError);
  CHECK_THROWS_WITH_AS(tree_report(four_layers(), sglang(), ForwardFault::wrong_prefix),
                       doctest::Contains("--inject wrong-prefix: requests of SGLang 0.5.23 go through a radix tree, "
                                         "which has no such fault; take one of skip-zeroing, shared-state-slot"),
                       InputError);
  CHECK_THROWS_WITH_AS(tree_report(four_layers(), {}, {}, {ForwardCase::tombstone}),
                       doctest::Contains("--case tombstone: requests of vLLM main of June 2026 with PR 35703 go"),
                       InputError);
  ModelSpec jamba = four_layers(DType::bf16, Mamba1Spec{32, 16, 4});
  CHECK_THROWS_WITH_AS(tree_report(jamba), doctest::Contains("runs no model with attention and mamba1 layers"),
                       SpecError);
}

TEST_CASE("law: the smallest pool is one in which the event takes place, and a page or slot less is none") {
  const std::vector<TreePrompt> requests{{{{1, 64}}}, {{{2, 48}}}, {{{1, 50}, {3, 5}}}};
  const auto shows = [](std::span<const TreeRecord> records) { return records[2].hit_tokens == 48; };
  const auto holds = [&](const TreeSettings& settings) {
    const std::vector<TreeRecord> records = replay_prompts(settings, requests);
    return shows(records) && std::all_of(records.begin(), records.end(), [](const TreeRecord& record) {
             return record.status == RequestStatus::ok;
           });
  };
  for (const std::int64_t page : {1, 16}) {
    TreeSettings settings = tree_settings(page);
    settings.chunk_tokens = 16;
    for (const auto size : {&TreeSettings::token_slots, &TreeSettings::state_slots}) {
      const std::int64_t most = settings.*size;
      settings.*size = smallest_pool(settings, size, requests, shows);
      CHECK(settings.*size < most);
      CHECK(holds(settings));
      settings.*size -= size == &TreeSettings::token_slots ? page : 1;
      CHECK(!holds(settings));
      settings.*size = most;
    }
  }
  const TreeSettings settings = tree_settings();
  CHECK(smallest_pool(settings, &TreeSettings::state_slots, requests,
                      [](std::span<const TreeRecord>) { return false; }) == most_forward_tree_states);
}
