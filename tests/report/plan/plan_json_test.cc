#include "report/plan/plan_json.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "planner/allocated_tensors.h"
#include "planner/plan.h"
#include "report/json_text.h"
#include "tests/planner/models.h"
#include "tests/report/random_plan.h"
#include "tests/report/sample_plan.h"

/// Fits a field of any type; counts the fields of an aggregate. Not of this file alone: its conversion has no body.
struct AnyField {
  template <class T>
  operator T() const;
};

using namespace hybridkv;
using Json = nlohmann::ordered_json;

namespace {

template <class T, class... Fields>
constexpr int num_fields() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; })
    return num_fields<T, Fields..., AnyField>();
  else
    return sizeof...(Fields);
}
// A field that is new in the plan is also new in the fields of its struct (report/*_json.h) and in random_plan.h.
static_assert(num_fields<PlanSet>() == 4 && num_fields<CachePlan>() == 15 && num_fields<SpecPlan>() == 18);
static_assert(num_fields<Arrangement>() == 21 && num_fields<ArenaPlan>() == 4 && num_fields<LanePlan>() == 5);
static_assert(num_fields<GroupPlan>() == 13 && num_fields<PoolPlan>() == 3 && num_fields<LayerRef>() == 2);
static_assert(num_fields<SharedLayer>() == 2);
static_assert(num_fields<SupposedLayout>() == 4 && num_fields<StatePlacement>() == 3);
static_assert(num_fields<ExtraPlan>() == 3 && num_fields<CapacityPlan>() == 11 && num_fields<PrefixPlan>() == 8);
static_assert(num_fields<TreePools>() == 10 && num_fields<TreeHost>() == 3 && num_fields<TokenStateSplit>() == 9);
static_assert(num_fields<PoolGroups>() == 16 && num_fields<GroupHost>() == 4 && num_fields<SnapshotPoints>() == 4);
static_assert(num_fields<SequenceRows>() == 16);
static_assert(num_fields<SequenceBytes>() == 8 && num_fields<CellBytes>() == 2);
static_assert(num_fields<UnifiedPool>() == 5 && num_fields<LengthAdvice>() == 8);
static_assert(num_fields<IdsByCause>() == 7 && num_fields<PagesInLane>() == 2 && num_fields<AllocatedTensor>() == 5);
static_assert(num_fields<BlockWaste>() == 5 && num_fields<LoadWaste>() == 13 && num_fields<WastePlan>() == 3);
static_assert(num_fields<ViewPlan>() == 9 && num_fields<WorkspacePlan>() == 4 && num_fields<WorkspaceSpec>() == 5);
static_assert(num_fields<AttentionGeometry>() == 11 && num_fields<StateSpec>() == 3 && num_fields<StateTensor>() == 4);
static_assert(num_fields<Decision>() == 4 && num_fields<Term>() == 3 && num_fields<Warning>() == 2);

PlanSet read(const Json& json) { return plan_set_from_json(Json::parse(json_text(json))); }

std::string error_of(const Json& json) {
  try {
    plan_set_from_json(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("law: a plan read back from its JSON text is the plan") {
  CHECK(rc::check("random plans", [] {
    const PlanSet set = testing::random_plan_set();
    RC_ASSERT(read(to_json(set)) == set);
  }));
}

TEST_CASE("law: real plans read back are the plans") {
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.memory_bytes = 40 * testing::gib;
  engine.speculative_tokens = 3;
  engine.mtp_layers = 1;
  engine.draft = DraftSpec{2, AttentionSpec{AttentionKind::sliding_window, 32, 2, 256, 256, 2048}};
  LimitsSpec limits;
  limits.max_model_lens = {8192, 32768};
  const std::int64_t packs[] = {1, 2, 3, 5};
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all}) {
    engine.cache_mode = mode;
    for (const ModelSpec& model : {testing::qwen35_397b(), testing::granite_h_small()}) {
      const PlanSet set = make_plans(model, engine, limits, packs, WorkspaceSpec{8192, 10000, 128, 64, DType::bf16});
      CHECK(read(to_json(set)) == set);
    }
  }
}

/// Plans of one allocation, whose lanes are one a slot, one a head, one of whole blocks and one a layer.
static std::vector<PlanSet> one_allocations() {
  std::vector<PlanSet> sets;
  const std::int64_t packs[] = {1};
  const LimitsSpec limits{.max_model_lens = {8192, 32768}};
  for (const CacheOrder order : all_cache_orders) {
    EngineSpec engine{.rules = &rules_of_vllm_0_33, .tensor_parallel = 2, .cache_mode = CacheMode::align,
                      .cache_order = order, .memory_bytes = 40 * testing::gib};
    const bool spreads_heads = order == CacheOrder::lhbnc || order == CacheOrder::bhlnc;
    const ModelSpec dense = testing::hybrid_model("dense", 12, testing::full_attention(8, 128, 32), GdnSpec{},
                                                  [](std::int64_t) { return true; });
    sets.push_back(make_plans(dense, engine, limits, packs));
    if (spreads_heads) continue;
    sets.push_back(make_plans(testing::qwen35_397b(), engine, limits, packs));
    engine.backend_profile = BackendProfile::sm90;
    engine.speculative_tokens = 1;
    engine.draft = DraftSpec{1, testing::full_attention(8, 128, 32)};
    sets.push_back(make_plans(testing::qwen35_397b(), engine, limits, packs));
  }
  return sets;
}

TEST_CASE("law: plans of one allocation read back are the plans") {
  for (const PlanSet& set : one_allocations()) {
    CAPTURE(to_string(*set.plans.front().cache_order));
    CHECK(read(to_json(set)) == set);
  }
}

TEST_CASE("law: an id of an arena has the bytes of its lanes, and every layer of a tensor lies in the allocation") {
  for (const PlanSet& set : one_allocations()) {
    const Json plan = to_json(set)["plans"][0];
    CAPTURE(plan["physical_order"]);
    CHECK(plan["release"] == "vllm-0.33");
    CHECK(plan["num_blocks"] == plan["arenas"][0]["num_ids"]);
    CHECK(plan["usable_blocks"] == plan["arenas"][0]["usable_ids"]);
    std::int64_t bytes = 0;
    for (const Json& lane : plan["arenas"][0]["lanes"]) bytes += lane["bytes"].get<std::int64_t>();
    CHECK(plan["bytes_per_block"] == bytes);
    const std::int64_t blocks = plan["num_blocks"];
    for (const Json& tensor : plan["tensors"]) {
      CHECK(tensor["size_bytes"] == blocks * bytes);
      const std::int64_t layers = std::ssize(tensor["layers"]);
      CHECK(tensor["offset_bytes"].get<std::int64_t>() + (layers - 1) * tensor["layer_stride"].get<std::int64_t>() +
                (blocks - 1) * tensor["block_stride"].get<std::int64_t>() <
            blocks * bytes);
    }
    for (const Json& capacity : plan["capacity"]) {
      std::int64_t ids = 0;
      for (const auto& cause : capacity["ids_by_cause"].items()) ids += cause.value().get<std::int64_t>();
      CHECK(capacity["blocks_per_request"] == ids);
    }
  }
}

TEST_CASE("golden: the tensors of Qwen3.5-397B under vLLM 0.33, layers outermost and blocks outermost") {
  const std::int64_t packs[] = {1};
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .backend_profile = BackendProfile::sm90, .tensor_parallel = 2,
                    .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  const auto plan_in = [&](CacheOrder order) {
    engine.cache_order = order;
    return Json(to_json(make_plans(testing::qwen35_397b(), engine, {.max_model_lens = {32768}}, packs))["plans"][0]);
  };
  const Json layers = plan_in(CacheOrder::lbnhc), blocks = plan_in(CacheOrder::blnhc);
  CHECK(layers["bytes_per_block"] == 32'440'320);  // 15 pages of 2,112 tokens
  CHECK(layers["num_blocks"] == 1323);
  CHECK(layers["tensors"][0]["layer_stride"] == std::int64_t(1323) * 2'162'688);
  CHECK(layers["tensors"][0]["block_stride"] == 2'162'688);
  CHECK(blocks["tensors"][0]["layer_stride"] == 2'162'688);
  CHECK(blocks["tensors"][0]["block_stride"] == 32'440'320);
  CHECK(layers["capacity"][0]["ids_by_cause"].dump() ==
        R"({"tokens":16,"states":6,"speculative":0,"checkpoints":3,"in_flight_window":0,"other":0})");
}

TEST_CASE("edge: a plan of equal pages is read from page and number of blocks alone") {
  const std::int64_t packs[] = {2};
  const PlanSet set = testing::tiny_plans(packs);
  Json json = to_json(set);
  json["plans"][0].erase("arenas");
  json["plans"][0].erase("bytes_per_block");
  CHECK(plan_set_from_json(json) == set);
}

TEST_CASE("fault: every value of the JSON counts") {
  CHECK(rc::check("a changed leaf is refused or read as another plan", [] {
    const PlanSet set = testing::random_plan_set();
    Json json = to_json(set);
    const Json flat = json.flatten();
    std::vector<std::string> leaves;
    for (const auto& item : flat.items())
      if (item.value().is_primitive() && !item.value().is_null()) leaves.push_back(item.key());
    Json& leaf = json.at(Json::json_pointer(*rc::gen::elementOf(leaves)));
    if (leaf.is_boolean())
      leaf = !leaf.get<bool>();
    else if (leaf.is_string())
      leaf = leaf.get<std::string>() + "x";
    else if (leaf.is_number_integer())
      leaf = leaf.get<std::int64_t>() + 1;
    else
      leaf = leaf.get<double>() == 0.5 ? 0.25 : 0.5;
    bool noticed = false;
    try {
      noticed = !(plan_set_from_json(json) == set);
    } catch (const InputError&) {
      noticed = true;
    }
    RC_ASSERT(noticed);
  }));
}

TEST_CASE("golden: the names of the issue, in their order") {
  const std::int64_t packs[] = {2};
  const Json json = to_json(testing::tiny_plans(packs));
  const auto keys = [](const Json& object) {
    std::string text;
    for (const auto& item : object.items()) text += (text.empty() ? "" : " ") + item.key();
    return text;
  };
  CHECK(keys(json) == "schema model tensor_parallel strategy plans");
  CHECK(json["schema"] == "hybridkv-plan/1");
  const Json& plan = json["plans"][0];
  CHECK(keys(plan) ==
        "release attention_pack_size cache_mode speculative_tokens max_num_batched_tokens specs page_bytes groups "
        "pools extras num_blocks usable_blocks bytes_per_block arenas capacity max_fitting_tokens max_running_requests "
        "max_running_requests_by_states one_token_request_bytes prefix waste views workspace warnings derivation");
  CHECK(keys(plan["arenas"][0]) == "id name num_ids usable_ids bytes_per_id lanes");
  CHECK(keys(plan["arenas"][0]["lanes"][0]) == "pool offset_bytes stride_bytes bytes");
  CHECK(keys(plan["specs"][0]) ==
        "id kind layers block_size_tokens kernel_block_size_tokens state unpadded_page_bytes padding_percent draft "
        "layers_per_page num_pages");
  CHECK(
      keys(plan["specs"][1]).starts_with("id kind layers block_size_tokens kernel_block_size_tokens bytes_per_token "));
  CHECK(keys(plan["specs"][0]["state"]["tensors"][0]) == "name dtype axes shape byte_offset");
  CHECK(keys(plan["groups"][0]) == "spec layers padding_slots pages");
  CHECK(keys(plan["pools"][0]) == "bytes page_bytes shared_by");
  CHECK(keys(plan["capacity"][0]).starts_with("max_model_len blocks_per_request bytes_per_request "
                                              "ideal_bytes_per_request max_concurrency kv_cache_tokens"));
  CHECK(keys(plan["prefix"]).starts_with("match_unit_tokens min_cacheable_prefix_tokens"));
  CHECK(keys(plan["views"][0]) == "spec layer tensor pool dtype axes shape strides offset strides_bytes "
                                       "offset_bytes");
  CHECK(plan["groups"][1]["layers"] == Json({2}));
  CHECK(plan["waste"]["at_load"]["used_bytes"].get<std::int64_t>() +
            plan["waste"]["at_load"]["wasted_bytes"].get<std::int64_t>() +
            plan["waste"]["at_load"]["null_block_bytes"].get<std::int64_t>() +
            plan["waste"]["at_load"]["free_bytes"].get<std::int64_t>() ==
        plan["waste"]["at_load"]["pool_bytes"].get<std::int64_t>());
}

TEST_CASE("law: written plan by plan it is the same text") {
  const std::int64_t packs[] = {1, 2, 3};
  for (const std::size_t count : {1, 3}) {
    const PlanSet set = testing::tiny_plans(std::span(packs).first(count));
    PlanSet shell = set;
    for (CachePlan& plan : shell.plans) plan = {};
    std::string text;
    write_json(shell, [&](std::size_t i) { return set.plans[i]; }, [&](const std::string& piece) { text += piece; });
    CHECK(text == json_text(to_json(set)));
  }
}

TEST_CASE("edge: an extra says only what it adds") {
  const std::int64_t packs[] = {2};
  PlanSet set = testing::tiny_plans(packs);
  set.plans[0].extras = {{"indexer", 1024, 0}, {"ring", 0, 1}};
  const Json extras = to_json(set)["plans"][0]["extras"];
  CHECK(extras[0].dump() == R"({"what":"indexer","bytes_per_block":1024})");
  CHECK(extras[1].dump() == R"({"what":"ring","blocks_per_request":1})");
  CHECK(read(to_json(set)) == set);
}

TEST_CASE("edge: what is no plan is refused with its place") {
  const std::int64_t packs[] = {2};
  const Json good = to_json(testing::tiny_plans(packs));
  const auto with = [&](const char* pointer, const Json& value) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    return error_of(changed);
  };
  CHECK(error_of(good) == "");
  CHECK(error_of(Json::array()) == R"(no plan this version reads: its "schema" must be "hybridkv-plan/1")");
  CHECK(with("/schema", "hybridkv-plan/2") == R"(no plan this version reads: its "schema" must be "hybridkv-plan/1")");
  CHECK(with("/plans", Json::array()) == "plans: needs at least one plan");
  CHECK(with("/plans/0/num_blocks", "85") == R"(plans[0].num_blocks: is "85", but 85 follows from the rest)");
  const char* ids = "/plans/0/arenas/0/num_ids";
  CHECK(with(ids, "85") == R"(plans[0].arenas[0].num_ids: must be a 64-bit integer, is "85")");
  CHECK(with(ids, 85.5) == "plans[0].arenas[0].num_ids: must be a 64-bit integer, is 85.5");
  CHECK(with(ids, std::numeric_limits<std::uint64_t>::max()) ==
        "plans[0].arenas[0].num_ids: must be a 64-bit integer, is 18446744073709551615");
  CHECK(with("/plans/0/cache_mode", "some") == R"(plans[0].cache_mode: must be one of none, align, all, is "some")");
  CHECK(with("/plans/0/capacity/0/fits", 1) == "plans[0].capacity[0].fits: must be true or false, is 1");
  CHECK(with("/plans/0/groups/1/layers", {3}) == "plans[0].groups[1].layers: is [3], but [2] follows from the rest");
  CHECK(with("/plans/0/groups/1/spec", 9) == "plans[0].groups[1].spec: is 9, but the plan has 2 specs");
  CHECK(with("/plans/0/waste/per_block/0/group", 9) ==
        "plans[0].waste.per_block[0].group: is 9, but the plan has 3 groups");
  CHECK(with("/plans/0/views/0/pool", 2) == "plans[0].views[0].pool: is 2, but the plan has 2 pools");
  CHECK(with("/plans/0/specs/1/id", 0) == "plans[0].specs[1].id: is 0, but must be the position");
  CHECK(with("/plans/0/prefix/colour", 1).starts_with("plans[0].prefix.colour: unknown key; allowed here: match_unit"));
  CHECK(with("/plans/0/capacity", Json::array()) == "plans[0].capacity: needs at least one length");
  CHECK(with("/plans/0/arenas/0/id", 1) == "plans[0].arenas[0].id: is 1, but must be the position");
  CHECK(with("/plans/0/arenas/0/lanes/1/pool", 7) == "plans[0].lanes[1].pool: is 7, but the plan has 2 pools");
  CHECK(with("/plans/0/usable_blocks", 85) == "plans[0].usable_blocks: is 85, but 84 follows from the rest");
  CHECK(with("/plans/0/bytes_per_block", 1) == "plans[0].bytes_per_block: is 1, but 12288 follows from the rest");
  CHECK(with("/plans/0/release", "vllm") ==
        R"(plans[0].release: must be one of vllm-2026-06, vllm-0.32, vllm-0.33, sglang-0.5.23, jenga, )"
        R"(compact-slots, tensorrt-llm, llama.cpp, is "vllm")");
  CHECK(with("/plans/0/pools/0", Json()) == "plans[0].pools[0]: must be an object, is null");
}

TEST_CASE("edge: a view that is no layout is refused with its place") {
  const std::int64_t packs[] = {2};
  const Json good = to_json(testing::tiny_plans(packs));
  const auto with = [&](const char* name, const Json& value) {
    Json changed = good;
    changed["plans"][0]["views"][0][name] = value;
    return error_of(changed);
  };
  CHECK(good["plans"][0]["views"][0]["axes"] == Json({"block", "step", "channel"}));
  CHECK(with("offset", -1) == "plans[0].views[0].offset: must not be negative");
  CHECK(with("shape", {85, 3}) == "plans[0].views[0]: axes, shape and strides must have the same length");
  CHECK(with("shape", {85, -3, 128}) == "plans[0].views[0]: extents and strides must not be negative");
  Json wide = good;
  wide["plans"][0]["views"][0]["axes"] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  wide["plans"][0]["views"][0]["shape"] = wide["plans"][0]["views"][0]["strides"] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(error_of(wide) == "plans[0].views[0]: at most 8 axes");
  CHECK(with("axes", {"block", "block", "channel"}) == "plans[0].views[0]: two axes are called \"block\"");
  CHECK(with("axes", {"block", "", "channel"}) ==
        "plans[0].views[0]: the name of an axis has 1 to 15 bytes, not \"\"");
  CHECK(with("strides", {std::int64_t{1} << 60, 1, 1}) ==
        "plans[0].views[0]: number too large for 64 bits: 84 * 1152921504606846976");
}

TEST_CASE("edge: a missing key is named") {
  const std::int64_t packs[] = {2};
  Json json = to_json(testing::tiny_plans(packs));
  json["plans"][0]["pools"][1].erase("bytes");
  CHECK(error_of(json) == "plans[0].pools[1].bytes: missing");
  json = to_json(testing::tiny_plans(packs));
  json["plans"][0]["specs"][0].erase("state");
  CHECK(error_of(json) == "plans[0].specs[0]: must have either attention or state");
  json = to_json(testing::tiny_plans(packs));
  json["plans"][0]["groups"][0].erase("layers");
  CHECK(error_of(json) == "plans[0].groups[0].layers: missing");
  json = to_json(testing::tiny_plans(packs));
  json["plans"][0].erase("bytes_per_block");
  CHECK(error_of(json) == "plans[0].bytes_per_block: missing");
}

TEST_CASE("fault: a plan with a number that is none is never written") {
  const std::int64_t packs[] = {2};
  PlanSet set = testing::tiny_plans(packs);
  set.plans[0].capacity[0].max_concurrency = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(to_json(set), std::logic_error);
}
