#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>

#include "planner/layer_specs.h"
#include "planner/plan.h"
#include "report/json_text.h"
#include "report/plan/plan_json.h"
#include "test_paths.h"
#include "tests/report/golden.h"
#include "tests/report/json_schema.h"
#include "tests/report/random_plan.h"
#include "tests/report/sample_plan.h"

using namespace hybridkv;
using nlohmann::json;
using hybridkv::testing::schema_violations;
using Lines = std::vector<std::string>;

namespace {

const json& published_schema() {
  static const json schema = json::parse(std::ifstream(HYBRIDKV_SOURCE_DIR "/report/plan.schema.json"));
  return schema;
}

json tiny_json() {
  const std::int64_t packs[] = {1, 2, 3};
  return json::parse(json_text(to_json(testing::tiny_plans(packs))));
}

/// Violations after one value of a good plan has been replaced.
Lines violations_with(const char* pointer, const json& value) {
  json changed = tiny_json();
  changed[json::json_pointer(pointer)] = value;
  return schema_violations(published_schema(), changed);
}

}  // namespace

TEST_CASE("golden: plans meet the published schema") {
  CHECK(schema_violations(published_schema(), tiny_json()).empty());
  EngineSpec engine;
  engine.memory_bytes = 40 * testing::gib;
  engine.mtp_layers = 1;
  engine.speculative_tokens = 2;
  engine.draft = DraftSpec{2, AttentionSpec{AttentionKind::sliding_window, 32, 2, 256, 256, 2048}};
  LimitsSpec limits;
  limits.max_model_lens = {32768};
  const std::int64_t packs[] = {1, 5};
  const PlanSet set =
      make_plans(testing::qwen35_397b(), engine, limits, packs, WorkspaceSpec{16, 100, 16, 64, DType::fp32});
  CHECK(schema_violations(published_schema(), json(to_json(set))) == Lines{});
}

TEST_CASE("law: any plan meets the published schema") {
  CHECK(rc::check("random plans", [] {
    RC_ASSERT(schema_violations(published_schema(), json(to_json(testing::random_plan_set()))) == Lines{});
  }));
}

TEST_CASE("fault: the schema refuses what is no plan") {
  CHECK(violations_with("/plans/0/num_blocks", "85") ==
        Lines{"/plans/0/num_blocks: must be of type \"integer\", is \"85\""});
  CHECK(violations_with("/plans/0/num_blocks", 85.5) ==
        Lines{"/plans/0/num_blocks: must be of type \"integer\", is 85.5"});
  CHECK(violations_with("/plans/0/num_blocks", -1) == Lines{"/plans/0/num_blocks: must be at least 0"});
  CHECK(violations_with("/plans/0/colour", "red") == Lines{"/plans/0/colour: unknown key"});
  CHECK(violations_with("/plans/0/views/0/dtype", "fp64").size() == 1);
  CHECK(violations_with("/plans/0/views/0/shape/1", "three").size() == 1);
  CHECK(violations_with("/plans/0/workspace", json()) == Lines{});
  CHECK(violations_with("/plans/0/workspace", 1).size() == 1);
  CHECK(violations_with("/plans", json::array()) == Lines{"/plans: needs 1 items"});
  CHECK(violations_with("/schema", "hybridkv-plan/2").size() == 1);
  CHECK(violations_with("/plans/0/prefix/min_cacheable_prefix_tokens", json()) == Lines{});
  CHECK(violations_with("/plans/0/specs/0/bytes_per_token", 64).size() == 0);  // a state stays the one that fits
}

TEST_CASE("fault: the schema refuses a plan without any one of its keys") {
  const json good = tiny_json();
  std::size_t refused = 0;
  // Every object key of the whole document, one at a time; only keys that a spec or extra may lack may go.
  const auto remove_each = [&](auto&& self, const json& at, const json::json_pointer& pointer) -> void {
    for (const auto& item : at.items()) {
      const json::json_pointer child = at.is_object() ? pointer / item.key() : pointer / std::stoul(item.key());
      if (at.is_object()) {
        json without = good;
        without[pointer].erase(item.key());
        CAPTURE(child.to_string());
        CHECK(!schema_violations(published_schema(), without).empty());
        ++refused;
      }
      if (item.value().is_structured() && (at.is_object() || item.key() == "0"))
        self(self, item.value(), child);
    }
  };
  remove_each(remove_each, good, json::json_pointer());
  CHECK(refused > 100);
}

TEST_CASE("fault: a spec is either attention or a state") {
  json both = tiny_json();
  both["plans"][0]["specs"][0]["bytes_per_token"] = 64;
  both["plans"][0]["specs"][0]["attention"] = both["plans"][0]["specs"][1]["attention"];
  CHECK(schema_violations(published_schema(), both).size() == 1);
  json neither = tiny_json();
  neither["plans"][0]["specs"][0].erase("state");
  CHECK(schema_violations(published_schema(), neither).size() == 1);
}

TEST_CASE("edge: the validator knows the keywords it meets") {
  CHECK_THROWS_AS(schema_violations({{"pattern", "a"}}, "a"), std::logic_error);
  CHECK_THROWS_AS(schema_violations({{"type", "whole"}}, 1), std::logic_error);
  CHECK(schema_violations({{"type", "integer"}}, 3.0).empty());
  CHECK(schema_violations({{"type", {"integer", "null"}}}, nullptr).empty());
  CHECK(schema_violations({{"oneOf", {{{"minimum", 1}}, {{"minimum", 2}}}}}, 3).size() == 1);
  CHECK(schema_violations({{"oneOf", {{{"minimum", 1}}, {{"minimum", 2}}}}}, 1).empty());
}

TEST_CASE("golden: the published schema is the one that the fields of a plan make") {
  CHECK_MESSAGE(testing::is_generated("report/plan.schema.json", json_text(plan_schema())),
                "HYBRIDKV_WRITE_ANSWERS=1 writes it anew; then python3 python/make_stubs.py");
}

TEST_CASE("law: the schema lists every name the code can write") {
  const auto lists = [](const char* pointer, std::string_view name) {
    const json& names = published_schema().at(json::json_pointer(pointer));
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto each = [&](auto first, const char* pointer, std::size_t count) {
    using Enum = decltype(first);
    for (std::size_t i = 0; i < count; ++i) CHECK(lists(pointer, to_string(static_cast<Enum>(i))));
    CHECK(to_string(static_cast<Enum>(count)) == "?");
    CHECK(published_schema().at(json::json_pointer(pointer)).size() == count);
  };
  each(AttentionKind::full, "/$defs/attention/properties/kind/enum", all_attention_kinds.size());
  each(BackendForm::paged, "/$defs/attention/properties/form/enum", 8);
  each(PhysicalOrder::nhd, "/$defs/attention/properties/order/enum", 3);
  each(CacheMode::none, "/$defs/plan/properties/cache_mode/enum", 3);
  for (AttentionKind kind : all_attention_kinds) CHECK(lists("/$defs/spec/properties/kind/enum", to_string(kind)));
  CHECK(lists("/$defs/spec/properties/kind/enum", LayerSet{.ring = RingSpec{}}.kind()));
  for_each_family([&](const auto& family) {
    CHECK(lists("/$defs/spec/properties/kind/enum", family_of(family).name));
  });
}
