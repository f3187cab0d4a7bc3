#include "scenarios/schema.h"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "scenarios/model_keys.h"
#include "scenarios/scenario_keys.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

using Json = nlohmann::json;

std::string schema_file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const Json& committed_schema() {
  static const Json schema = Json::parse(schema_file_text(HYBRIDKV_SOURCE_DIR "/scenarios/scenario.schema.json"));
  return schema;
}

/// What a reference stands for; anything else itself.
const Json& shape_of(const Json& node) {
  constexpr std::string_view definitions = "#/$defs/";
  if (!node.contains("$ref")) return node;
  return committed_schema().at("$defs").at(node.at("$ref").get<std::string>().substr(definitions.size()));
}

/// Checks the keys of one mapping of the schema against the table.
void check_mapping(const Json& schema, const SectionInfo& section) {
  CAPTURE(section.name);
  std::set<std::string> expected, required, found;
  for (const KeyInfo& key : section.keys) {
    expected.insert(key.name);
    if (key.required) required.insert(key.name);
  }
  for (const auto& [name, value] : schema.at("properties").items()) found.insert(name);
  CHECK(found == expected);
  CHECK(schema.at("additionalProperties") == false);
  CHECK(schema.value("required", Json::array()).get<std::set<std::string>>() == required);
  for (const KeyInfo& key : section.keys) {
    CAPTURE(key.name);
    const Json& value = schema.at("properties").at(key.name);
    CHECK(value.at("description") == key.doc);
    if (!key.section) continue;
    check_mapping(shape_of(key.type == ValueType::sections ? value.at("items") : value), *key.section);
  }
}

}  // namespace

TEST_CASE("golden: the committed schemas are the ones that the table of keys makes") {
  const std::string path = "scenarios/scenario.schema.json";
  const bool equal = schema_file_text(HYBRIDKV_SOURCE_DIR "/" + path) == scenario_schema();
  if (!equal) std::ofstream("scenario.schema.json") << scenario_schema();
  CHECK_MESSAGE(equal, "the table of keys has changed: copy scenario.schema.json of the working directory over ", path);
  CHECK(schema_file_text(HYBRIDKV_SOURCE_DIR "/scenarios/models/model.schema.json") == model_schema());
}

TEST_CASE("golden: the committed schema has exactly the keys of the reader") {
  check_mapping(committed_schema(), scenario_keys().info());
  check_mapping(committed_schema().at("$defs").at("model"), model_keys().info());
  const Json& kinds = committed_schema().at("$defs").at("kind").at("oneOf");
  REQUIRE(kinds.size() == kind_sections().size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    check_mapping(kinds[i], *kind_sections()[i].info);
    CHECK(kinds[i].at("properties").at("type").at("enum") == Json::array({kind_sections()[i].type}));
  }
}

TEST_CASE("golden: the schema knows limits, words and synonyms") {
  const Json& engine = committed_schema().at("properties").at("engine").at("properties");
  const Json& ranks = shape_of(shape_of(engine.at("tensor_parallel")).at("anyOf").at(0));
  CHECK(ranks.at("minimum") == 1);
  CHECK(ranks.at("maximum") == 1'000'000);
  const Json& orders = engine.at("physical_order").at("anyOf").at(0).at("enum");
  CHECK(orders == Json::array({"nhd", "hnd", "head_major", "LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC", "NHD",
                               "HND", "head-major"}));
}

TEST_CASE("law: a shape that several keys share is written once") {
  // Of every object that says what a value may be, beside its description.
  std::map<std::string, int> times;
  const std::function<void(const Json&)> count = [&](const Json& node) {
    if (node.is_object() && (node.contains("type") || node.contains("anyOf"))) {
      Json shape = node;
      shape.erase("description");
      ++times[shape.dump()];
    }
    if (!node.is_structured()) return;
    for (const Json& part : node) count(part);
  };
  count(committed_schema());
  for (const auto& [shape, found] : times) {
    CAPTURE(shape);
    // Lists of words are told apart by their key alone; what is shorter than a reference is no gain.
    CHECK((found <= 2 || shape.size() < 100 || shape.find("enum") != std::string::npos));
  }
}

TEST_CASE("edge: every key is explained, every synonym stands for an allowed word") {
  std::vector<const SectionInfo*> sections{&scenario_keys().info(), &model_keys().info(),
                                           &model_reference_keys().info()};
  for (const KindSection& kind : kind_sections()) sections.push_back(kind.info);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    CHECK(sections[i]->doc.size() > 10);
    for (const KeyInfo& key : sections[i]->keys) {
      CAPTURE(sections[i]->name);
      CAPTURE(key.name);
      CHECK(key.doc.size() > 10);
      CHECK(key.minimum <= key.maximum);
      CHECK((key.type == ValueType::choice || key.type == ValueType::choices) == !key.choices.empty());
      for (const auto& synonym : key.synonyms)
        CHECK(std::find(key.choices.begin(), key.choices.end(), synonym.second) != key.choices.end());
      if (key.section) sections.push_back(key.section);
    }
  }
  CHECK(sections.size() == 52);
}

}  // namespace hybridkv::test
