#include "report/json_schema.h"

namespace hybridkv {

void JsonSchema::choice(const char* keyword, JsonNotes::KeySets sets) {
  choice_[keyword] = Json::array();
  for (const auto& keys : sets)
    choice_[keyword].push_back({{"required", std::vector<std::string>(keys.begin(), keys.end())}});
}

auto JsonSchema::document(const char* id, const char* title, Json schema, Json definitions) -> Json {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", id}, {"title", title}};
  json.update(schema);
  json["$defs"] = std::move(definitions);
  return json;
}

auto JsonSchema::plain(const char* type) -> Json { return {{"type", type}}; }

auto JsonSchema::number(const char* type, std::int64_t least) -> Json { return {{"type", type}, {"minimum", least}}; }

auto JsonSchema::words(const std::vector<std::string>& allowed) -> Json { return {{"enum", allowed}}; }

auto JsonSchema::list(Json item, std::int64_t least) -> Json {
  Json json = {{"type", "array"}, {"items", std::move(item)}};
  if (least > 0) json["minItems"] = least;
  return json;
}

auto JsonSchema::or_null(Json schema) -> Json {
  schema["type"] = {schema["type"], "null"};
  return schema;
}

auto JsonSchema::definition(const char* name, Json schema) -> Json {
  definitions_[name] = std::move(schema);
  return {{"$ref", std::string("#/$defs/") + name}};
}

auto JsonSchema::object() -> Json {
  Json json = {{"description", description_},          {"type", "object"},
               {"properties", std::move(properties_)}, {"required", required_},
               {"additionalProperties", false}};
  json.update(choice_);
  return json;
}

void JsonSchema::put(const char* name, const Meaning& meaning, Json type, bool is_required) {
  Json& json = properties_[name] = Json::object();
  if (*meaning.text != '\0') json["description"] = meaning.text;
  json.update(type);
  if (is_required) required_.emplace_back(name);
}

}  // namespace hybridkv
