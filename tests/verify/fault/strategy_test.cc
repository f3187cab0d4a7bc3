// Other strategies than pages of one size are proven by the same checks, and the same faults are found in them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/tree_settings.h"
#include "tests/verify/forward/forward_models.h"
#include "tests/verify/plans.h"
#include "tests/verify/transfer/plan_traffic.h"
#include "verify/fault/fault.h"
#include "verify/fault/plant.h"
#include "verify/forward/forward.h"
#include "verify/layout/untouched_check.h"
#include "verify/verify.h"

using namespace hybridkv;

namespace {

constexpr Strategy others[] = {Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots,
                               Strategy::two_level};

/// Does the strategy pack layers by a number of the user's?
bool takes_packs(Strategy strategy) { return strategy != Strategy::two_level; }

ModelSpec small_model() {
  return testing::hybrid_model("small", 12,
                               AttentionSpec{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16},
                               GdnSpec{2, 4, 16, 16, 4}, [](std::int64_t i) { return i % 2 == 1; });
}

EngineSpec small_engine(Strategy strategy, std::int64_t pack, CacheMode mode, std::int64_t memory_bytes) {
  EngineSpec engine{.ssm_dtype = DType::fp32, .strategy = strategy, .cache_mode = mode, .attention_pack_size = pack};
  engine.memory_bytes = memory_bytes;
  for (const EngineRules* const rules : {&rules_of_tensorrt_llm, &rules_of_llama_cpp})
    if (rules->strategy == strategy) engine.rules = rules;
  if (keeps_tensors_apart(strategy)) engine.max_running_requests = 8;
  return engine;
}

/// Of engines whose rules are read; states of one of their tensors lie apart from those of the other.
constexpr Strategy apart[] = {Strategy::pool_groups, Strategy::sequence_rows};

std::vector<CacheMode> modes_of(Strategy strategy) {
  if (keeps_tensors_apart(strategy)) return {CacheMode::none, CacheMode::align};
  return {CacheMode::none, CacheMode::align, CacheMode::all};
}

CachePlan plan_of(Strategy strategy, std::int64_t pack, CacheMode mode = CacheMode::align,
                  std::int64_t memory_bytes = std::int64_t(64) << 20) {
  return make_plan(small_model(), small_engine(strategy, pack, mode, memory_bytes), {.max_model_lens = {256}});
}

std::string strategy_failures(const VerifyReport& report) {
  std::string text;
  for (const CheckResult& check : report.checks)
    if (check.status != CheckStatus::passed) text += fmt::format("{}: {}\n", check.name, check.message);
  return text;
}

std::string strategy_failures(const ForwardReport& report) {
  std::string text;
  for (const ForwardResult& result : report.results)
    if (result.status != ForwardStatus::passed)
      text += fmt::format("{} {}: {}\n", to_string(result.forward_case), to_string(result.mode), result.message);
  return text;
}

}  // namespace

TEST_CASE("law: every other strategy passes every check of verify, in every mode and with packs") {
  for (const Strategy strategy : others)
    for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
      for (const std::int64_t pack : {1, 4}) {
        if (pack > 1 && !takes_packs(strategy)) continue;
        const CachePlan plan = plan_of(strategy, pack, mode);
        for (const GroupPlan& group : plan.groups)
          if (plan.spec_of(group).state)
            CHECK(group.ids_per_entry == (strategy == Strategy::small_pages && pack == 1 ? 3 : 1));
        const VerifyReport report = verify_plan(plan, {});
        CAPTURE(to_string(strategy));
        CAPTURE(strategy_failures(report));
        CHECK(report.passed());
      }
}

TEST_CASE("law: pool groups and rows by sequence pass every check of verify, in every mode, with latents and drafts") {
  for (const Strategy strategy : apart)
    for (const CacheMode mode : modes_of(strategy))
      for (const bool latent : {false, true}) {
        ModelSpec model = small_model();
        if (latent)
          for (LayerSpec& layer : model.layers)
            if (layer.attention)
              layer.attention = AttentionSpec{.kind = AttentionKind::mla, .query_heads = 4, .kv_heads = 1,
                                              .head_size_k = 40, .head_size_v = 32};
        EngineSpec engine = small_engine(strategy, 1, mode, std::int64_t(1) << 28);
        if (strategy == Strategy::sequence_rows) engine.speculative_tokens = 2;
        const CachePlan plan = make_plan(model, engine, {.max_model_lens = {256}});
        REQUIRE(plan.groups.size() == 3);  // K and V, conv, ssm
        CHECK((plan.groups[1].tensor == 0 && plan.groups[2].tensor == 1 && plan.groups[2].shares_table));
        CHECK(!plan.arenas[0].has_null_id);
        const VerifyReport report = verify_plan(plan, {});
        CAPTURE(to_string(strategy));
        CAPTURE(to_string(mode));
        CAPTURE(strategy_failures(report));
        CHECK(report.passed());
      }
}

TEST_CASE("fault: what can go wrong with pool groups and rows is found by the check that owns it") {
  for (const Strategy strategy : apart) {
    std::size_t planted = 0;
    std::string places;
    for (const FaultInfo& info : all_faults()) {
      CAPTURE(to_string(strategy));
      CAPTURE(to_string(info.fault));
      const bool needs_many = info.fault == Fault::narrow_offsets;
      const CachePlan plan = plan_of(strategy, 1, CacheMode::align,
                                     std::int64_t(needs_many ? 48 : 1) << (needs_many ? 30 : 28));
      VerifySpec spec;
      spec.fault = info.fault;
      try {
        const VerifyReport report = verify_plan(plan, spec);
        ++planted;
        CHECK(report.caught());
        const auto owner = std::find_if(report.checks.begin(), report.checks.end(),
                                        [&](const CheckResult& check) { return check.name == info.found_by; });
        REQUIRE(owner != report.checks.end());
        CAPTURE(strategy_failures(report));
        CHECK(owner->status == CheckStatus::failed);
      } catch (const NoPlaceError& error) {
        places += fmt::format("{}: {}; ", to_string(info.fault), error.why());
      }
    }
    CAPTURE(places);
    CAPTURE(planted);
    // No padding, no pack of layers, no page with two tensors or for both kinds, no scales, no null id; of cells of one
    // token nothing to split or to exchange in them.
    CHECK(planted == (strategy == Strategy::pool_groups ? 16 : 13));
  }
}

TEST_CASE("law: a network runs through pool groups as it runs dense") {
  const EngineSpec engine = small_engine(Strategy::pool_groups, 1, CacheMode::align, std::int64_t(1) << 28);
  const ForwardReport report = verify_forward(small_model(), engine, {.scale = 1});
  CAPTURE(strategy_failures(report));
  CHECK(report.passed());
  std::size_t passed = 0;
  for (const ForwardResult& result : report.results) passed += result.status == ForwardStatus::passed;
  CHECK(passed == 10);  // one of mode none and nine of align; it has no mode all
}

TEST_CASE("law: the pools of SGLang 0.5.23 pass every check of verify, with dummies, pages and each strategy") {
  for (const std::int64_t page : {1, 16})
    for (const TreeStrategy strategy :
         {TreeStrategy::automatic, TreeStrategy::no_buffer, TreeStrategy::extra_buffer_lazy}) {
      if (strategy == TreeStrategy::no_buffer && page > 1) continue;
      EngineSpec engine = small_engine(Strategy::dual_pool, 1, CacheMode::align, std::int64_t(1) << 22);
      engine.rules = &rules_of_sglang_0_5_23;
      engine.own.set(tree_key::page_size, page);
      engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
      const CachePlan plan = make_plan(small_model(), engine, {.max_model_lens = {256}});
      CHECK(plan.arenas[0].usable_ids() == plan.tree_pools->split.token_slots / page);
      CHECK(plan.arenas[1].usable_ids() == plan.tree_pools->split.state_slots);
      const VerifyReport report = verify_plan(plan, {});
      CAPTURE(to_string(strategy));
      CAPTURE(strategy_failures(report));
      CHECK(report.passed());
    }
}

TEST_CASE("fault: what can go wrong with another strategy is found by the check that owns it") {
  for (const Strategy strategy : others) {
    std::size_t planted = 0;
    std::string places;
    for (const FaultInfo& info : all_faults()) {
      CAPTURE(to_string(strategy));
      CAPTURE(to_string(info.fault));
      const bool needs_many = info.fault == Fault::narrow_offsets;
      const CachePlan plan =
          plan_of(strategy, takes_packs(strategy) ? 2 : 1, CacheMode::align,
                  std::int64_t(needs_many ? 48 : 1) << (needs_many ? 30 : 26));
      VerifySpec spec;
      spec.fault = info.fault;
      try {
        const VerifyReport report = verify_plan(plan, spec);
        ++planted;
        CHECK(report.caught());
        const auto owner = std::find_if(report.checks.begin(), report.checks.end(),
                                        [&](const CheckResult& check) { return check.name == info.found_by; });
        REQUIRE(owner != report.checks.end());
        CAPTURE(strategy_failures(report));
        CHECK(owner->status == CheckStatus::failed);
      } catch (const NoPlaceError& error) {
        places += error.why() + "; ";
      }
    }
    CAPTURE(places);
    // No format with scales anywhere, and no padding of exact pages; in a dual pool and compact slots nothing that
    // attention and states share, in small pages and on two levels no state whose two tensors fit a page. Three
    // faults are those of slots and of large pages, two those of encoders.
    const std::size_t no_place = strategy == Strategy::dual_pool       ? 4 + 3
                                 : strategy == Strategy::small_pages   ? 2 + 3
                                 : strategy == Strategy::compact_slots ? 4 + 2
                                                                       : 3 + 1;
    constexpr std::size_t of_encoders = 2;
    CHECK(planted + no_place + of_encoders == all_faults().size());
  }
}

TEST_CASE("fault: what is written into a small page that nobody uses, of a large page that somebody does, is found") {
  const testing::PlanTraffic bound(plan_of(Strategy::two_level, 1));
  std::size_t unused = 0;
  for (std::size_t number = 0; number < bound.plan.groups.size(); ++number)
    for (const std::int64_t place : bound.assignment.unused_places(bound.plan, number)) {
      const GroupPlan& group = bound.plan.groups[number];
      fill_canaries(bound.traffic);
      CHECK(check_unheld_blocks(bound.traffic).status == CheckStatus::passed);
      bound.pools.place(group, group.first_lane, place).back() ^= std::byte{1};
      const CheckResult result = check_unheld_blocks(bound.traffic);
      CHECK(result.status == CheckStatus::failed);
      CHECK(result.message.starts_with(fmt::format("small page {} of group {}, which nobody uses", place, number)));
      ++unused;
    }
  CHECK(unused > 0);
}

TEST_CASE("law: a network runs through a dual pool, small pages and compact slots as it runs dense") {
  for (const Strategy strategy : {Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots})
    for (const std::int64_t pack : {1, 3}) {  // a state of three pages, and of one
      const ForwardReport report = verify_forward(
          small_model(), small_engine(strategy, pack, CacheMode::align, std::int64_t(64) << 20), {.scale = 1});
      CAPTURE(to_string(strategy));
      CAPTURE(strategy_failures(report));
      CHECK(report.passed());
      for (const ForwardResult& result : report.results)
        for (const BackendWork& work : result.backends) CHECK((work.batches > 0 && work.declined == 0));
    }
}

TEST_CASE("fault: what an engine gets wrong changes outputs in every strategy, through every backend on its own") {
  for (const Strategy strategy :
       {Strategy::packed_attention, Strategy::dual_pool, Strategy::small_pages, Strategy::compact_slots})
    for (const AttentionBackend backend : compared_attention_backends) {
      std::size_t caught = 0;
      const std::vector<ForwardFault> faults = forward_faults_of(rules_of_vllm_2026_06);
      for (const ForwardFault fault : faults) {
        ForwardSpec spec{.scale = 1, .modes = {CacheMode::none, CacheMode::align}};
        spec.cases = {testing::owner_of(info_of(fault))};
        spec.fault = fault;
        spec.backends = {backend};
        const ForwardReport report =
            verify_forward(small_model(), small_engine(strategy, 1, CacheMode::align, std::int64_t(64) << 20), spec);
        CAPTURE(to_string(strategy));
        CAPTURE(to_string(backend));
        CAPTURE(to_string(fault));
        CAPTURE(strategy_failures(report));
        CHECK((report.caught() || !report.applies()));
        caught += report.caught();
      }
      CHECK(caught + 4 == faults.size());  // no window gives back a block, no layer reads another or an encoder
    }
}
