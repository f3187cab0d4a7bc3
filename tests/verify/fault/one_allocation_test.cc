// Plans of vLLM 0.33, one allocation in one of six orders: every check passes, every fault is found.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engines/vllm/rules.h"
#include "tests/verify/check_named.h"
#include "tests/verify/forward/forward_models.h"
#include "tests/verify/plans.h"
#include "verify/fault/fault.h"
#include "verify/fault/plant.h"
#include "verify/forward/forward.h"
#include "verify/layout/physical_order.h"
#include "verify/verify.h"

using namespace hybridkv;
using testing::check_named;

namespace {

constexpr AttentionSpec heads_2x16{.query_heads = 4, .kv_heads = 2, .head_size_k = 16, .head_size_v = 16};

ModelSpec hybrid() {
  return testing::hybrid_model("hybrid", 12, heads_2x16, GdnSpec{2, 4, 16, 16, 4},
                               [](std::int64_t i) { return i % 3 == 2; });
}

ModelSpec uniform(const AttentionSpec& attention, std::int64_t layers = 3) {
  ModelSpec model{.name = "uniform"};
  for (std::int64_t i = 0; i < layers; ++i) model.layers.push_back({attention, std::nullopt});
  return model;
}

ModelSpec with_windows() {
  ModelSpec model = uniform(heads_2x16, 6);
  for (std::size_t i = 0; i < 6; i += 2) {
    model.layers[i].attention->kind = AttentionKind::sliding_window;
    model.layers[i].attention->window_tokens = 40;
  }
  return model;
}

EngineSpec engine_of(CacheOrder order, std::int64_t memory_bytes = std::int64_t(16) << 20) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .ssm_dtype = DType::fp32, .cache_mode = CacheMode::align};
  engine.cache_order = order;
  engine.memory_bytes = memory_bytes;
  return engine;
}

/// A draft whose heads are others, so that pages of two sizes lie side by side in a block.
EngineSpec with_draft(EngineSpec engine) {
  engine.draft = DraftSpec{2, {.query_heads = 4, .kv_heads = 4, .head_size_k = 16, .head_size_v = 16}};
  return engine;
}

CachePlan plan_of(const ModelSpec& model, const EngineSpec& engine) {
  return make_plan(model, engine, {.max_model_lens = {256}});
}

std::string failures(const VerifyReport& report) {
  std::string text;
  for (const CheckResult& check : report.checks)
    if (check.status != CheckStatus::passed) text += fmt::format("{}: {}\n", check.name, check.message);
  return text;
}

void require_sound(const CachePlan& plan, const char* what) {
  CAPTURE(what);
  CAPTURE(to_string(*plan.cache_order));
  CHECK(plan.view_error.empty());
  const VerifyReport report = verify_plan(plan, {});
  CAPTURE(failures(report));
  CHECK(report.passed());
}

/// Every check that runs passes; what indexers keep is bytes, of which nothing here computes attention.
void require_unfaulted(const CachePlan& plan) {
  CAPTURE(to_string(*plan.cache_order));
  CHECK(plan.view_error.empty());
  const VerifyReport report = verify_plan(plan, {});
  CAPTURE(failures(report));
  CHECK(report.first_failure() == nullptr);
  CHECK(report.first_unproven() != nullptr);
  CHECK(check_named(report, "kv-written").status == CheckStatus::passed);
}

/// Of slots, of large pages and of encoders, which these plans do not have.
bool is_of_other_strategies(Fault fault) {
  return fault == Fault::slot_stride || fault == Fault::small_page_shifted || fault == Fault::foreign_large_page ||
         fault == Fault::shared_encoder || fault == Fault::encoder_cut;
}

/// Faults that have no place in the plan.
std::set<std::string> faults_without_place(const CachePlan& plan) {
  std::set<std::string> without;
  for (const FaultInfo& info : all_faults()) {
    if (is_of_other_strategies(info.fault)) continue;
    VerifySpec spec;
    spec.fault = info.fault;
    spec.until_caught = true;
    CAPTURE(to_string(*plan.cache_order));
    CAPTURE(to_string(info.fault));
    try {
      const VerifyReport report = verify_plan(plan, spec);
      CAPTURE(failures(report));
      CHECK(report.caught());
      CHECK(check_named(report, info.found_by).status == CheckStatus::failed);
    } catch (const NoPlaceError&) {
      without.insert(std::string(to_string(info.fault)));
    }
  }
  return without;
}

bool spreads_pages(const CachePlan& plan) {
  return std::any_of(plan.groups.begin(), plan.groups.end(), [](const GroupPlan& g) { return g.lanes_per_page > 1; });
}
bool shares_pieces(const CachePlan& plan) {
  return std::any_of(plan.groups.begin(), plan.groups.end(), [](const GroupPlan& g) { return g.in_lane.has_value(); });
}
bool shares_tables(const CachePlan& plan) {
  return std::any_of(plan.groups.begin(), plan.groups.end(), [](const GroupPlan& g) { return g.shares_table; });
}

}  // namespace

TEST_CASE("law: indexers of some layers, a row a token or for several, pass every check, and faults are found") {
  for (const IndexerSpec& indexer : {IndexerSpec{24, 1}, IndexerSpec{33, 4}})
    for (const CacheOrder order : {CacheOrder::blnhc, CacheOrder::blhnc}) {
      ModelSpec model = hybrid();
      model.layers[5].attention->indexer = model.layers[11].attention->indexer = indexer;
      const CachePlan plan = plan_of(model, engine_of(order));
      CHECK(std::count_if(plan.views.begin(), plan.views.end(), [&](const ViewPlan& view) {
              return plan.specs[static_cast<std::size_t>(view.spec)].is_indexer();
            }) == 2);
      require_unfaulted(plan);
      for (const Fault fault : {Fault::lost_kv, Fault::order_exchanged, Fault::null_block_used}) {
        VerifySpec spec;
        spec.fault = fault;
        CAPTURE(to_string(fault));
        CHECK(verify_plan(plan, spec).caught());
      }
    }
}

TEST_CASE("law: so do indexers in the table of layers of one kind, in every order that they have") {
  ModelSpec model = uniform(heads_2x16, 4);
  for (std::size_t i = 1; i < 4; ++i) model.layers[i].attention->indexer = IndexerSpec{33, 4};
  for (const CacheOrder order : {CacheOrder::lbnhc, CacheOrder::lbhnc, CacheOrder::blnhc, CacheOrder::blhnc})
    require_unfaulted(plan_of(model, engine_of(order)));
}

TEST_CASE("law: latents with a window beside others pass every check, and faults are found") {
  const AttentionSpec latent{.kind = AttentionKind::mla, .query_heads = 4, .kv_heads = 1, .head_size_k = 24,
                             .head_size_v = 16};
  ModelSpec model = uniform(latent, 6);
  for (std::size_t i = 1; i < 6; i += 2) {
    model.layers[i].attention->head_size_k = 40;
    model.layers[i].attention->window_tokens = 40;
  }
  for (const CacheOrder order : {CacheOrder::blnhc, CacheOrder::blhnc}) {
    const CachePlan plan = plan_of(model, engine_of(order));
    CHECK(plan.groups.size() == 4);  // a table of the others holds no second layer with a window
    require_sound(plan, "windows on latents");
    CHECK_FALSE(faults_without_place(plan).contains("lost-kv"));
  }
}

TEST_CASE("law: uniform attention, windows and latents pass every check in all six orders") {
  const AttentionSpec latent{.kind = AttentionKind::mla, .query_heads = 2, .kv_heads = 1, .head_size_k = 24,
                             .head_size_v = 16};
  AttentionSpec apart = heads_2x16;
  apart.head_size_v = 8;
  for (const CacheOrder order : all_cache_orders) {
    require_sound(plan_of(uniform(heads_2x16), engine_of(order)), "uniform");
    require_sound(plan_of(uniform(heads_2x16, 1), engine_of(order)), "one layer");
    require_sound(plan_of(with_windows(), engine_of(order)), "windows");
    require_sound(plan_of(uniform(latent), engine_of(order)), "latents");
    require_sound(plan_of(uniform(apart), engine_of(order)), "K and V of other sizes");
  }
  CHECK(spreads_pages(plan_of(uniform(heads_2x16), engine_of(CacheOrder::lhbnc))));
  CHECK(shares_pieces(plan_of(with_windows(), engine_of(CacheOrder::bhlnc))));
}

TEST_CASE("law: quantised caches pass every check in all six orders") {
  const AttentionSpec wide{.query_heads = 4, .kv_heads = 2, .head_size_k = 64, .head_size_v = 64};
  for (const KvFormat format : {KvFormat::int8_per_token_head, KvFormat::int4_per_token_head, KvFormat::nvfp4})
    for (const CacheOrder order : all_cache_orders) {
      EngineSpec engine = engine_of(order);
      engine.kv_format = format;
      const CachePlan plan = plan_of(uniform(wide), engine);
      CAPTURE(to_string(format));
      require_sound(plan, "quantised");
      const std::int64_t slots = plan.views.front().bytes.extent("head");
      CHECK(slots == (format == KvFormat::nvfp4 ? 4 : 2));
    }
}

TEST_CASE("law: hybrids pass every check in their four orders, with and without a draft of other pages") {
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc})
    for (const CacheMode mode : {CacheMode::none, CacheMode::align}) {
      EngineSpec engine = engine_of(order);
      engine.cache_mode = mode;
      require_sound(plan_of(hybrid(), engine), "hybrid");
      require_sound(plan_of(hybrid(), with_draft(engine)), "hybrid with a draft");
    }
  const CachePlan mixed = plan_of(hybrid(), with_draft(engine_of(CacheOrder::blnhc)));
  CHECK(shares_pieces(mixed));
  CHECK(shares_tables(mixed));
  // A dense model and its draft are one table, whose pages differ.
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::blnhc}) {
    const CachePlan dense = plan_of(uniform(heads_2x16), with_draft(engine_of(order)));
    CHECK(shares_tables(dense));
    require_sound(dense, "dense with a draft");
  }
}

TEST_CASE("law: the stages of a pipeline pass every check, each with its own layers") {
  for (const CacheOrder order : {CacheOrder::lbnhc, CacheOrder::blhnc})
    for (const std::int64_t rank : {0, 1, 2}) {
      EngineSpec engine = engine_of(order);
      engine.pipeline_parallel = 3;
      engine.pipeline_layers = {5, 5, 2};
      engine.pipeline_rank = rank;
      require_sound(plan_of(hybrid(), engine), "stage");
    }
}

TEST_CASE("fault: everything that can go wrong with one allocation is found by the check that owns it") {
  for (const CacheOrder order : all_cache_orders) {
    std::set<std::string> expected{"narrow-offsets", "misaligned-state", "padding-reused", "odd-stride",
                                   "states-exchanged", "lost-state", "scale-exchanged", "kv-over-state",
                                   "state-over-kv"};
    // Elsewhere every view fills its page.
    if (order != CacheOrder::lhbnc && order != CacheOrder::bhlnc)
      expected.merge(std::set<std::string>{"zero-full-page", "copy-full-page"});
    CHECK(faults_without_place(plan_of(with_windows(), engine_of(order))) == expected);
  }
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc}) {
    CHECK(faults_without_place(plan_of(hybrid(), engine_of(order))) ==
          std::set<std::string>{"narrow-offsets", "scale-exchanged"});
    EngineSpec scaled = with_draft(engine_of(order));
    scaled.kv_dtype = DType::fp8_e4m3;
    // The paged backend leaves caches of fp8 with scales to others.
    CHECK(faults_without_place(plan_of(hybrid(), scaled)) == std::set<std::string>{"narrow-offsets", "stale-paged"});
  }
  // More than 2^31 elements of a byte, most of which are never touched.
  for (const CacheOrder order : {CacheOrder::lhbnc, CacheOrder::bhlnc}) {
    VerifySpec spec;
    spec.fault = Fault::narrow_offsets;
    spec.until_caught = true;
    CHECK(verify_plan(plan_of(uniform(heads_2x16), engine_of(order, std::int64_t(12) << 30)), spec).caught());
  }
}

TEST_CASE("fault: groups that share a table have the same ids, or the table audit says so") {
  CachePlan plan = plan_of(hybrid(), with_draft(engine_of(CacheOrder::blnhc)));
  const auto second =
      std::find_if(plan.groups.begin(), plan.groups.end(), [](const GroupPlan& group) { return group.shares_table; });
  REQUIRE(second != plan.groups.end());
  // Two pages at one place of the block: the views of a table meet, though their groups differ.
  second->in_lane->first = 0;
  for (ViewPlan& view : plan.views)
    if (view.spec == second->spec) view.bytes = Layout(view.bytes.axes(), view.bytes.offset() % 64);
  const VerifyReport report = verify_plan(plan, {});
  CHECK(check_named(report, "address-audit-intervals").status == CheckStatus::failed);
  CHECK(check_named(report, "physical-order").status == CheckStatus::failed);
}

TEST_CASE("golden: the rule of BHLNC by hand, block 1 of layer 2, head 1, token 3, byte 5") {
  const CacheFacts facts{.order = CacheOrder::bhlnc, .layers = 4, .blocks = 7, .heads = 2, .tokens = 16,
                         .kernel_tokens = 16, .content_bytes = 64, .page_bytes = 2048, .block_bytes = 8192};
  const CacheByte at{2, 1, 1, 3, 5};
  CHECK(cache_byte_by_rule(facts, at) == 8192 + (1 * 4 + 2) * 1024 + 3 * 64 + 5);
  CacheFacts other = facts;
  other.order = CacheOrder::lhbnc;
  CHECK(cache_byte_by_rule(other, at) == (2 * 2 + 1) * 7 * 1024 + 1 * 1024 + 3 * 64 + 5);
  other.order = CacheOrder::lbnhc;
  CHECK(cache_byte_by_rule(other, at) == 2 * 7 * 2048 + 2048 + (3 * 2 + 1) * 64 + 5);
  other.order = CacheOrder::lbhnc, other.kernel_tokens = 2;  // token 3 is the second of kernel block 1
  CHECK(cache_byte_by_rule(other, at) == 2 * 7 * 2048 + 2048 + 256 + (1 * 2 + 1) * 64 + 5);
}

TEST_CASE("law: a network runs through one allocation in every order as it runs dense") {
  const auto run = [](const ModelSpec& model, const EngineSpec& engine) {
    const ForwardReport report = verify_forward(model, engine, {.scale = 1});
    CAPTURE(to_string(*engine.cache_order));
    std::string text;
    for (const ForwardResult& result : report.results)
      if (result.status != ForwardStatus::passed)
        text += fmt::format("{} {}: {}\n", to_string(result.forward_case), to_string(result.mode), result.message);
    CAPTURE(text);
    CHECK(report.passed());
  };
  for (const CacheOrder order : all_cache_orders) run(with_windows(), engine_of(order, std::int64_t(64) << 20));
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::blnhc})
    run(hybrid(), engine_of(order, std::int64_t(64) << 20));
}

TEST_CASE("edge: with one KV head tokens and heads cannot change places, whatever an axis of one position steps by") {
  AttentionSpec one_head = heads_2x16;
  one_head.kv_heads = 1;
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::lbnhc}) {
    const CachePlan plan = plan_of(uniform(one_head), engine_of(order));
    std::vector<BoundView> views = bind_views(plan);
    BlockAssignment unused;
    CHECK_THROWS_AS(plant_fault(Fault::order_exchanged, plan, views, unused), NoPlaceError);
  }
  const CachePlan plan = plan_of(uniform(heads_2x16), engine_of(CacheOrder::lbhnc));
  std::vector<BoundView> views = bind_views(plan);
  BlockAssignment unused;
  CHECK_NOTHROW(plant_fault(Fault::order_exchanged, plan, views, unused));
}
