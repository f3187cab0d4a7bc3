// Within a major version a schema only grows: beside tests/data/schemas, which has those of the last release. At a
// release they are copied there, under its version.
#include "tests/report/schema_growth.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "test_paths.h"

using namespace hybridkv::testing;
using json = nlohmann::json;
using Lines = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

json parsed(const fs::path& path) { return json::parse(std::ifstream(path)); }

struct Versioned {
  const char* name;
  const char* path;
  SchemaUse use;
};
constexpr Versioned schemas[] = {{"plan", "report/plan.schema.json", SchemaUse::output},
                                 {"transfer", "report/transfer.schema.json", SchemaUse::output},
                                 {"scenario", "scenarios/scenario.schema.json", SchemaUse::input}};

json of_house(const Versioned& schema) { return parsed(fs::path(HYBRIDKV_SOURCE_DIR) / schema.path); }

/// A schema with one value replaced; null takes it away.
Lines breaks_with(const Versioned& schema, const std::string& pointer, const json& value) {
  const json before = of_house(schema);
  json after = before;
  const json::json_pointer at(pointer);
  REQUIRE(after.contains(at));
  json& above = after[at.parent_pointer()];
  if (value.is_null() && above.is_array()) above.erase(std::stoul(at.back()));
  else if (value.is_null()) above.erase(at.back());
  else after[at] = value;
  return schema_breaks(before, after, schema.use);
}

json object(const json& properties, const json& required = json::array()) {
  return {{"$id", "x:1"}, {"type", "object"}, {"properties", properties}, {"required", required},
          {"additionalProperties", false}};
}

json value(const json& shape) { return object({{"a", shape}}); }

Lines input(const json& before, const json& after) { return schema_breaks(before, after, SchemaUse::input); }
Lines output(const json& before, const json& after) { return schema_breaks(before, after, SchemaUse::output); }

const json text = {{"type", "string"}};
const json whole = {{"type", "integer"}};
const json real = {{"type", "number"}};

}  // namespace

TEST_CASE("golden: schemas have only grown since the last release") {
  for (const Versioned& schema : schemas) {
    CAPTURE(schema.name);
    std::size_t compared = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(fs::path(HYBRIDKV_TEST_DATA) / "schemas")) {
      if (!file.path().filename().string().starts_with(schema.name + std::string("-"))) continue;
      CAPTURE(file.path().filename().string());
      CHECK(schema_breaks(parsed(file.path()), of_house(schema), schema.use) == Lines{});
      ++compared;
    }
    CHECK(compared >= 1);
  }
}

TEST_CASE("golden: a schema says which format it describes") {
  for (const Versioned& schema : schemas) {
    const std::string id = of_house(schema).at("$id");
    CHECK(id.starts_with("urn:hybridkv:" + std::string(schema.name) + ":"));
  }
}

TEST_CASE("fault: each kind of break in the schemas of the house is found") {
  const auto& [plan, transfer, scenario] = schemas;
  CHECK(breaks_with(plan, "/properties/model", nullptr).front() == "/model: is gone");
  CHECK(breaks_with(plan, "/properties/model/type", "integer") == Lines{"/model: integer is new"});
  CHECK(breaks_with(plan, "/required", {"schema", "model", "tensor_parallel", "plans"}) ==
        Lines{"/strategy: required no more"});
  CHECK(breaks_with(plan, "/properties/strategy/enum/0", "pages") == Lines{"/strategy: \"uniform_page\" is gone"});
  CHECK(breaks_with(plan, "/$defs/spec/properties/ring_tokens", nullptr).size() == 1);
  CHECK(breaks_with(plan, "/$defs/spec/oneOf/1", nullptr).size() == 1);
  CHECK(breaks_with(transfer, "/$defs/descriptor/properties/bytes/minimum", nullptr).size() == 1);
  CHECK(breaks_with(transfer, "/$defs/descriptor/properties/layer/type", {"integer", "null"}).size() == 1);
  CHECK(breaks_with(scenario, "/properties/name", nullptr) == Lines{"/name: is gone"});
  CHECK(breaks_with(scenario, "/properties/name/minLength", 2) == Lines{"/name: minLength is stricter"});
  CHECK(breaks_with(scenario, "/properties/engine/properties/release", nullptr) == Lines{"/engine/release: is gone"});
  CHECK(breaks_with(scenario, "/properties/engine/properties/release/anyOf/0/enum/2", "vllm") ==
        Lines{"/engine/release: \"vllm-0.33\" is gone"});
  CHECK(breaks_with(scenario, "/properties/model/anyOf/1", nullptr).size() >= 1);
  json needed = of_house(scenario);
  needed["required"].push_back("name");
  CHECK(schema_breaks(of_house(scenario), needed, SchemaUse::input) == Lines{"/name: required now"});
}

TEST_CASE("edge: what grows breaks nothing") {
  for (const Versioned& schema : schemas) {
    json after = of_house(schema);
    CHECK(schema_breaks(after, after, schema.use) == Lines{});
    after["$defs"]["unused"] = text;
    after["description"] = "Other words.";
    if (after.contains("properties")) after["properties"]["more"] = text;
    CHECK(schema_breaks(of_house(schema), after, schema.use) == Lines{});
  }
  CHECK(input(value(whole), value(real)).empty());
  CHECK(output(value(real), value(whole)).empty());
  CHECK(input(object({{"a", text}}, {"a"}), object({{"a", text}})).empty());
  CHECK(output(object({{"a", text}}), object({{"a", text}}, {"a"})).empty());
  CHECK(input(value({{"enum", {"x"}}}), value({{"enum", {"y", "x"}}})).empty());
  CHECK(output(value({{"enum", {"x"}}}), value({{"enum", {"x", "y"}}})).empty());
  CHECK(input(value({{"enum", {"x"}}}), value(text)).empty());
  CHECK(input(value(text), value({{"anyOf", {whole, text}}})).empty());
  const json bounded = {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}};
  CHECK(input(value(bounded), value({{"type", "integer"}, {"minimum", 0}})).empty());
}

TEST_CASE("fault: what an input takes no more is found") {
  CHECK(input(value(real), value(whole)) == Lines{"/a: number is taken no more"});
  CHECK(input(value(json::object()), value(text)) == Lines{"/a: of any type before"});
  CHECK(input(object({{"a", text}}), object({{"a", text}}, {"a"})) == Lines{"/a: required now"});
  CHECK(input(object({{"a", text}}), object({{"a", text}, {"b", text}}, {"b"})) == Lines{"/b: required now"});
  CHECK(input(value(text), value({{"type", "string"}, {"enum", {"x"}}})) == Lines{"/a: any word before"});
  CHECK(input(value(text), value({{"type", "string"}, {"pattern", "x"}})).size() == 1);
  CHECK(input(value(whole), value({{"type", "integer"}, {"minimum", 0}})) == Lines{"/a: minimum is stricter"});
  CHECK(input(value({{"type", "integer"}, {"maximum", 9}}), value({{"type", "integer"}, {"maximum", 8}})).size() == 1);
  CHECK(input(value({{"anyOf", {whole, text}}}), value(text)).size() == 1);
  CHECK(input(value({{"type", "array"}}), value({{"type", "array"}, {"items", text}})).size() == 1);
  CHECK(input({{"$id", "x:1"}, {"type", "object"}}, object({})) == Lines{"/: other keys than before"});
}

TEST_CASE("fault: what an output promises no more is found") {
  CHECK(output(value(whole), value(real)) == Lines{"/a: number is new"});
  CHECK(output(value(text), value(json::object())) == Lines{"/a: of any type now"});
  CHECK(output(object({{"a", text}}, {"a"}), object({{"a", text}})) == Lines{"/a: required no more"});
  CHECK(output(value({{"enum", {"x", "y"}}}), value({{"enum", {"x"}}})) == Lines{"/a: \"y\" is gone"});
  CHECK(output(value({{"enum", {"x"}}}), value(text)) == Lines{"/a: any word now"});
  CHECK(output(value(text), value({{"anyOf", {text, whole}}})).size() >= 1);
  CHECK(output(value({{"type", "array"}, {"items", text}}), value({{"type", "array"}})).size() == 1);
  CHECK(output(value({{"type", "array"}, {"items", text}}), value({{"type", "array"}, {"items", whole}})) ==
        Lines{"/a/[]: integer is new"});
}

TEST_CASE("edge: references lead through a shape inside itself; another major version promises nothing") {
  const json leaf = {{"$id", "x:1"}, {"$ref", "#/$defs/tree"},
                     {"$defs", {{"tree", {{"type", "object"}, {"properties", {{"below", {{"$ref", "#/$defs/tree"}}},
                                                                               {"name", text}}}}}}}};
  json renamed = leaf;
  renamed["$defs"]["tree"]["properties"].erase("name");
  CHECK(input(leaf, leaf).empty());
  CHECK(input(leaf, renamed) == Lines{"/name: is gone"});
  renamed["$id"] = "x:2";
  CHECK(input(leaf, renamed).empty());
  CHECK_THROWS_AS(input(value({{"not", text}}), value(text)), std::logic_error);
}
