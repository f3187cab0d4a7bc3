#include "scenarios/schema.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/model_keys.h"
#include "scenarios/number.h"
#include "scenarios/scenario_keys.h"
#include "scenarios/simulate_keys.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

Json any_of(std::initializer_list<Json> choices) { return {{"anyOf", Json(choices)}}; }

Json reference(const std::string& definition) { return {{"$ref", "#/$defs/" + definition}}; }

Json list_of(const Json& item) { return {{"type", "array"}, {"items", item}, {"minItems", 1}}; }

/// Shapes of values by name, each written once: under "$defs", in the order in which they are first needed.
class Shapes {
 public:
  /// A reference to the shape of that name, which `make` gives where it is new.
  template <class Make>
  Json named(const std::string& name, Make make) {
    if (!all_.contains(name)) {
      all_[name] = nullptr;  // its place stands before those that it needs
      all_[name] = make();
    }
    return reference(name);
  }

  const Json& all() const { return all_; }

 private:
  Json all_ = Json::object();
};

/// "integer_from_1_to_1000000", "tokens_from_0": all that tells two shapes of whole numbers apart.
std::string whole_number_name(const KeyInfo& key) {
  std::string name = fmt::format("{}_from_{}", key.form == NumberForm::tokens ? "tokens" : "integer", key.minimum);
  if (key.maximum != std::numeric_limits<std::int64_t>::max()) name += fmt::format("_to_{}", key.maximum);
  return name;
}

Json whole_number(const KeyInfo& key, Shapes& shapes) {
  return shapes.named(whole_number_name(key), [&]() -> Json {
    Json schema = {{"type", "integer"}, {"minimum", key.minimum}};
    if (key.maximum != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = key.maximum;
    return key.form == NumberForm::tokens ? any_of({schema, reference("tokens")}) : schema;
  });
}

Json range(const KeyInfo& key) { return reference(key.form == NumberForm::tokens ? "token_range" : "range"); }

/// Numbers, ranges or a list of both: how several whole numbers are written.
Json whole_numbers(const KeyInfo& key, Shapes& shapes) {
  return shapes.named("several_" + whole_number_name(key), [&] {
    const Json one = whole_number(key, shapes);
    return any_of({one, range(key), list_of(any_of({one, range(key)}))});
  });
}

Json choice_schema(const KeyInfo& key) {
  Json schema = {{"enum", key.choices}};
  for (const auto& synonym : key.synonyms) schema["enum"].push_back(synonym.first);
  return schema;
}

/// `swept`: may its values be lists and ranges that mean a sweep?
Json mapping(const SectionInfo& section, Shapes& shapes, bool swept = true);

/// The schema of one value that is not swept.
Json single_value(const KeyInfo& key, Shapes& shapes) {
  switch (key.type) {
    case ValueType::integer: return whole_number(key, shapes);
    case ValueType::size: return reference("size");
    case ValueType::sizes: return any_of({reference("size"), list_of(reference("size"))});
    case ValueType::number: return {{"type", "number"}, {"minimum", 0}};
    case ValueType::text: return {{"type", "string"}, {"minLength", 1}};
    case ValueType::flag: return {{"type", "boolean"}};
    case ValueType::choice: return choice_schema(key);
    case ValueType::choices: return any_of({choice_schema(key), list_of(choice_schema(key))});
    case ValueType::integers: return whole_numbers(key, shapes);
    case ValueType::numbers: {
      const Json one = {{"type", "number"}, {"minimum", 0}};
      return any_of({one, list_of(one)});
    }
    case ValueType::texts: return any_of({{{"type", "string"}}, list_of({{"type", "string"}})});
    case ValueType::section:
      return key.section == &distribution_section() ? reference("distribution") : mapping(*key.section, shapes);
    case ValueType::sections: return list_of(mapping(*key.section, shapes, false));
    case ValueType::model: return reference("model_choice");
    case ValueType::kinds:
      return {{"type", "object"},
              {"minProperties", 1},
              {"propertyNames", {{"pattern", "^[A-Za-z*]$"}}},
              {"additionalProperties", reference("kind")}};
  }
  throw std::logic_error("unknown type of value");
}

/// One value, a range where there are such, or a list of both that means a sweep.
Json swept_value(const KeyInfo& key, Shapes& shapes) {
  const Json single = single_value(key, shapes);
  Json choices = Json::array({single});
  if (key.type == ValueType::integer) choices.push_back(range(key));
  if (key.type == ValueType::size) choices.push_back(reference("size_range"));
  Json items = choices;
  if (!key.required) items.push_back({{"type", "null"}});  // the default
  choices.push_back(list_of({{"anyOf", std::move(items)}}));
  return {{"anyOf", std::move(choices)}};
}

Json value(const KeyInfo& key, Shapes& shapes) {
  if (!key.sweepable) return single_value(key, shapes);
  if (key.one_question) return whole_numbers(key, shapes);
  // Shapes that few keys share have no name.
  const std::string name = key.type == ValueType::integer    ? whole_number_name(key)
                           : key.type == ValueType::integers ? "several_" + whole_number_name(key)
                           : key.type == ValueType::size     ? "size"
                           : key.type == ValueType::number   ? "number"
                           : key.type == ValueType::flag     ? "flag"
                                                             : "";
  if (name.empty()) return swept_value(key, shapes);
  return shapes.named((key.required ? "swept_" : "swept_or_default_") + name, [&] { return swept_value(key, shapes); });
}

Json mapping(const SectionInfo& section, Shapes& shapes, bool swept) {
  Json schema = {{"type", "object"}, {"description", section.doc}, {"additionalProperties", false}};
  Json properties = Json::object();
  Json required = Json::array();
  for (const KeyInfo& key : section.keys) {
    properties[key.name] = {{"description", key.doc}};
    properties[key.name].update(swept ? value(key, shapes) : single_value(key, shapes));
    properties[key.name]["description"] = key.doc;
    if (key.required) required.push_back(key.name);
  }
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json kinds(Shapes& shapes) {
  Json choices = Json::array();
  for (const KindSection& kind : kind_sections()) choices.push_back(mapping(*kind.info, shapes));
  return {{"description", "One kind of layer."}, {"oneOf", std::move(choices)}};
}

}  // namespace

std::string scenario_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", "urn:hybridkv:scenario:1"},
                 {"title", "hybridkv scenario"}};
  Shapes shapes;
  schema.update(mapping(scenario_keys().info(), shapes));
  schema["$defs"] = {
      {"range", {{"description", "Whole numbers from the first to the last, \"1..16\" or \"16..128 step 16\"."},
                 {"type", "string"},
                 {"pattern", range_pattern()}}},
      {"tokens", {{"description", "A number of tokens with a unit: 32k is 32,768, 1M 1,048,576."},
                  {"type", "string"},
                  {"pattern", tokens_pattern()}}},
      {"token_range", {{"description", "Numbers of tokens from the first to the last, \"16k..128k step 16k\"."},
                       {"type", "string"},
                       {"pattern", range_pattern(NumberForm::tokens)}}},
      {"size", any_of({{{"type", "integer"}, {"minimum", 1}}, {{"type", "string"}, {"pattern", size_pattern()}}})},
      {"size_range", {{"description", "Sizes from the first to the last, \"16 GiB..80 GiB step 16 GiB\"."},
                      {"type", "string"},
                      {"pattern", size_range_pattern()}}},
      {"model_choice",
       any_of({{{"type", "string"}}, mapping(model_reference_keys().info(), shapes), reference("model")})},
      {"kind", kinds(shapes)},
      {"distribution", mapping(distribution_section(), shapes)},
      {"model", mapping(model_keys().info(), shapes)},
  };
  schema["$defs"].update(shapes.all());
  return schema.dump(2) + "\n";
}

std::string model_schema() {
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "hybridkv model"},
                       {"$ref", "../scenario.schema.json#/$defs/model"}};
  return schema.dump(2) + "\n";
}

}  // namespace hybridkv
