#include "planner/supposed_layout.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines/sglang/rules.h"
#include "engines/vllm/rules.h"
#include "planner/evidence.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/random_specs.h"
#include "tests/planner/models.h"

namespace hybridkv {
namespace {

using testing::gib;
using testing::mib;

EngineSpec engine_by(const EngineRules& rules, std::int64_t pack = 1) {
  EngineSpec engine;
  engine.rules = &rules;
  engine.tensor_parallel = 2;
  engine.cache_mode = CacheMode::align;
  engine.attention_pack_size = pack;
  engine.memory_bytes = 40 * gib;
  return engine;
}

CachePlan supposed_plan(const EngineSpec& engine, const ModelSpec& model = testing::qwen35_397b()) {
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

/// What is left of a plan without what says that something is supposed, and why.
CachePlan unlabelled(CachePlan plan) {
  plan.what_if = {};
  plan.derivation.clear();
  return plan;
}

std::string refused(const EngineSpec& engine, const ModelSpec& model = testing::qwen35_397b()) {
  try {
    supposed_plan(engine, model);
    return "planned";
  } catch (const SpecError& error) {
    return error.what();
  }
}

const Decision& decision_of(const CachePlan& plan, std::string_view symbol) {
  for (const Decision& decision : plan.derivation)
    if (decision.result.symbol == symbol) return decision;
  throw std::logic_error("no such decision");
}

TEST_CASE("law: an engine's own rules, supposed, give its own plan, labelled as modelled") {
  for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33})
    for (const std::int64_t pack : {1, 5}) {
      CAPTURE(rules->name);
      CAPTURE(pack);
      EngineSpec engine = engine_by(*rules, pack);
      const CachePlan own = supposed_plan(engine);
      engine.what_if.block_formula = "A * ceil(M / (A * N * a1))";
      CHECK(unlabelled(supposed_plan(engine)) == unlabelled(own));
      engine.what_if.page_bytes = own.page_bytes(own.groups.front());
      CHECK(unlabelled(supposed_plan(engine)) == unlabelled(own));
      for (const GroupPlan& group : own.groups) engine.what_if.groups.push_back(group.layers());
      const CachePlan supposed = supposed_plan(engine);
      CHECK(unlabelled(supposed) == unlabelled(own));
      CHECK(supposed_texts(supposed.what_if).size() == 3);
      CHECK(evidence_of(supposed) == Evidence::modelled);
      CHECK(decision_of(supposed, "B").source == "engine.what_if.block_formula");
      CHECK(decision_of(supposed, "P").source == "engine.what_if.page_bytes");
      CHECK(decision_of(supposed, "P").rule ==
            "P as supposed, at least the largest unpadded page; every page is padded to it");
    }
}

TEST_CASE("rule: supposed blocks, pages, groups and places of states are those of the plan") {
  for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33}) {
    CAPTURE(rules->name);
    EngineSpec engine = engine_by(*rules);
    engine.what_if.block_formula = "2 * A * ceil(M / (2 * A * a1))";
    CHECK(supposed_plan(engine).specs.front().block_size_tokens == 2112);
    engine.what_if = {};
    engine.what_if.page_bytes = 4 * mib;
    const CachePlan padded = supposed_plan(engine);
    CHECK(padded.page_bytes(padded.groups.front()) == 4 * mib);
    CHECK(padded.num_blocks() == 40 * gib / (15 * 4 * mib));
    engine.what_if = {};
    engine.what_if.states = {.first_byte = 100, .alignment = 256, .recurrent_first = true};
    const CachePlan placed = supposed_plan(engine);
    const StateSpec& state = *placed.specs.front().state;
    CHECK(state.tensors[1].byte_offset == 256);
    CHECK(state.tensors[0].byte_offset == 256 + state.tensors[1].bytes());
    CHECK(state.bytes == state.tensors[0].byte_offset + state.tensors[0].bytes());
    CHECK(state.padding_bytes == 256);
  }
}

TEST_CASE("rule: the widest supposed group says how many pools there are, and others leave places empty") {
  EngineSpec engine = engine_by(rules_of_vllm_2026_06);
  const CachePlan own = supposed_plan(engine);
  for (const GroupPlan& group : own.groups) {
    const std::vector<std::int64_t> layers = group.layers();
    engine.what_if.groups.emplace_back(layers.begin(), layers.begin() + 5);
    engine.what_if.groups.emplace_back(layers.begin() + 5, layers.end());
  }
  const CachePlan split = supposed_plan(engine);
  CHECK(split.pools.size() == 10);
  CHECK(split.groups.size() == 8);
  CHECK(split.groups.front().padding_positions == 5);
  CHECK(split.num_blocks() == own.num_blocks() * 15 / 10);
}

TEST_CASE("rule: supposed groups are those of the model; layers of a draft and hidden states stay in their own") {
  EngineSpec engine = engine_by(rules_of_vllm_2026_06);
  engine.speculative_tokens = 1;
  engine.draft = DraftSpec{1, testing::full_attention(4, 64)};  // its layer is called 0, as the first of the model is
  engine.hidden_state_size = 64;
  const CachePlan own = supposed_plan(engine, testing::two_layer_model());
  CHECK(own.groups.size() == 4);
  engine.what_if.groups = {{0}, {1}};
  CHECK(unlabelled(supposed_plan(engine, testing::two_layer_model())) == unlabelled(own));
}

TEST_CASE("message: what cannot be supposed is refused with its key and a way out") {
  EngineSpec engine = engine_by(rules_of_vllm_2026_06);
  const auto with = [&](auto set) {
    EngineSpec changed = engine;
    set(changed);
    return refused(changed);
  };
  CHECK(with([](EngineSpec& e) { e.what_if.block_formula = "100"; }) ==
        "engine.what_if.block_formula: '100' comes to 100 tokens, no multiple of 16, the smallest kernel block; take "
        "16 * ceil((100) / 16)");
  CHECK(with([](EngineSpec& e) { e.what_if.block_formula = "A - 16"; }) ==
        "engine.what_if.block_formula: 'A - 16' comes to 0 tokens; take at least 1");
  CHECK(with([](EngineSpec& e) { e.what_if.block_formula = "C"; }).find("'C' is unknown") != std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.block_formula = "A * 1099511627776"; }).find("any length may have") !=
        std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.page_bytes = 1 * mib; }) ==
        "engine.what_if.page_bytes: is 1048576, and the largest page, unpadded, has 2146304 bytes; take at least as "
        "many, or smaller blocks by engine.what_if.block_formula");
  CHECK(with([](EngineSpec& e) {
          e.what_if.page_bytes = 4 * mib + 1;
          e.page_alignment_bytes = 512;
        }).find("no multiple of engine.page_alignment_bytes") != std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.groups = {{0, 3}}; }) ==
        "engine.what_if.groups: has layer 0 (gdn) and layer 3 (full_attention) in one group; the layers of a group are "
        "of one kind");
  CHECK(with([](EngineSpec& e) { e.what_if.groups = {{0, 0}}; }).find("names layer 0 twice") != std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.groups = {{0, 60}}; }).find("names layer 60 twice, or one that caches") !=
        std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.groups = {{0}}; }) ==
        "engine.what_if.groups: names no group for layers 1, 2, 3, 4, 5, 6, 7, 8 and 51 more; name each layer that "
        "caches something once");
  CHECK(with([](EngineSpec& e) {
          e.what_if.groups = {{0}};
          e.layers_per_group = 3;
        }).find("leave one out") != std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.states.first_byte = -1; }).find("allowed: 0 to") != std::string::npos);
  CHECK(with([](EngineSpec& e) { e.what_if.states.alignment = 0; }).find("allowed: 1 to") != std::string::npos);
  CHECK(with([](EngineSpec& e) {
          e.what_if.states.first_byte = 64;
          e.strategy = Strategy::dual_pool;
        }) == "engine.what_if: supposes rules of pages that all layers share, and strategy dual_pool has none; leave "
              "it out, or set engine.strategy to packed_attention");
  CHECK(with([](EngineSpec& e) {
          e.what_if.states.first_byte = 64;
          e.rules = &rules_of_sglang_0_5_23;
          e.strategy = Strategy::dual_pool;
        }).find("SGLang 0.5.23 has no such setting") != std::string::npos);
  engine.cache_mode = CacheMode::all;
  CHECK(refused(engine, testing::granite_h_small()) == "planned");
  engine.what_if.block_formula = "A";
  CHECK(refused(engine, testing::granite_h_small()).find("the chunk of the scan, which mode all keeps states at") !=
        std::string::npos);
  engine.what_if.block_formula = "C";
  CHECK(refused(engine, testing::granite_h_small()) == "planned");
}

/// The layers of a plan's kinds dealt out to random numbers of groups.
std::vector<std::vector<std::int64_t>> dealt_groups(const CachePlan& plan) {
  std::vector<std::vector<std::int64_t>> groups;
  for (const SpecPlan& spec : plan.specs) {
    if (spec.draft || spec.auxiliary) continue;
    std::vector<std::vector<std::int64_t>> dealt(
        static_cast<std::size_t>(testing::random_detail::between(1, std::ssize(spec.layers))));
    for (std::size_t i = 0; i < spec.layers.size(); ++i) dealt[i % dealt.size()].push_back(spec.layers[i]);
    groups.insert(groups.end(), dealt.begin(), dealt.end());
  }
  return groups;
}

/// Random specs with random rules of no engine, where a plan without these is possible.
testing::RandomSpecs supposed_specs() {
  using testing::random_detail::between;
  using testing::random_detail::one_in;
  testing::RandomSpecs specs = testing::random_detail::draw(testing::SpecSize::tiny);
  if (one_in(2)) testing::random_detail::choose_order(specs);
  specs.engine.layers_per_group.reset();
  specs.engine.page_alignment_bytes = 1;
  std::optional<CachePlan> own;
  try {
    own = plan_of(specs);
  } catch (const SpecError&) {
    return specs;
  }
  SupposedLayout& what_if = specs.engine.what_if;
  if (one_in(2))
    what_if.block_formula = testing::random_detail::pick(
        std::vector<std::string>{"A", "2 * A", "A * ceil((M + 1) / (A * max(1, N * a1)))", "lcm(A, 3, k)"});
  if (one_in(2))
    what_if.page_bytes = round_up(2 * own->page_bytes(own->groups.front()), 64) + 64 * between(0, 4);
  if (one_in(2)) what_if.states = {between(0, 100), std::int64_t(1) << between(0, 6), one_in(2)};
  const bool has_two_kinds =
      std::any_of(specs.model.layers.begin(), specs.model.layers.end(),
                  [](const LayerSpec& layer) { return layer.attention && layer.recurrent; });
  if (one_in(2) && !has_two_kinds && specs.engine.pipeline_parallel == 1) what_if.groups = dealt_groups(*own);
  return specs;
}

TEST_CASE("law: random plans of supposed rules keep the laws of arrangements") {
  int grouped = 0, paged = 0, placed = 0, formed = 0;
  const auto any_specs = rc::gen::resize(rc::kNominalSize, rc::gen::exec(supposed_specs));
  CHECK(testing::check_times("supposed rules", 300, [&] {
    const testing::RandomSpecs specs = *any_specs;
    const SupposedLayout& what_if = specs.engine.what_if;
    std::optional<CachePlan> plan;
    if (what_if != SupposedLayout{}) try {
        plan = plan_of(specs);
      } catch (const SpecError&) {
      }
    // Of one allocation a plan without views is one, and the laws are about views.
    if (!plan || !plan->view_error.empty()) RC_DISCARD("nothing supposed, or refused");
    RC_ASSERT(testing::broken_law(*plan) == "");
    RC_ASSERT(evidence_of(*plan) == Evidence::modelled);
    if (what_if.page_bytes)
      for (const GroupPlan& group : plan->groups)
        RC_ASSERT(group.pages.empty() || plan->page_bytes(group) == *what_if.page_bytes);
    const auto of_model = std::count_if(plan->groups.begin(), plan->groups.end(), [&](const GroupPlan& group) {
      return !plan->spec_of(group).draft && !plan->spec_of(group).auxiliary;
    });
    RC_ASSERT(what_if.groups.empty() || of_model == std::ssize(what_if.groups));
    grouped += !what_if.groups.empty();
    paged += what_if.page_bytes.has_value();
    placed += what_if.states != StatePlacement{};
    formed += !what_if.block_formula.empty();
  }));
  MESSAGE(fmt::format("{} with groups, {} pages, {} places, {} formulas", grouped, paged, placed, formed));
  for (const int count : {grouped, paged, placed, formed}) CHECK(count > 60);
}

}  // namespace
}  // namespace hybridkv
