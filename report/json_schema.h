#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "report/json_archive.h"

namespace hybridkv {

/// Makes the JSON Schema (draft 2020-12) of what JsonWriter writes, from the same lists of fields: each struct is a
/// definition under the name that `named` gives it, numbers are not negative, and only fields that are never left out
/// are required.
class JsonSchema {
 public:
  static constexpr bool reads = false;
  using Json = nlohmann::ordered_json;

  /// The schema of one value.
  template <class T>
  static Json of(const char* id, const char* title) {
    Json definitions = Json::object();
    Json schema = head(id, title);
    schema.update(JsonSchema(definitions).filled<T>());
    schema["$defs"] = std::move(definitions);
    return schema;
  }
  /// The schema of a value that is one of several structs.
  template <class... T>
  static Json of_one(const char* id, const char* title, const char* description) {
    Json definitions = Json::object();
    Json schema = head(id, title);
    schema["description"] = description;
    schema["oneOf"] = Json::array({JsonSchema(definitions).shape<T>({})...});
    schema["$defs"] = std::move(definitions);
    return schema;
  }

  template <class T>
  void operator()(const char* name, const T&, const Meaning& meaning = {}) {
    add<T>(name, meaning);
    required_.push_back(name);
  }
  template <class T>
  void unless_default(const char* name, const T&, const Meaning& meaning = {}) {
    add<T>(name, meaning);
  }
  /// An option that is left out where it is empty is never null.
  template <class T>
  void unless_default(const char* name, const std::optional<T>&, const Meaning& meaning = {}) {
    add<T>(name, meaning);
  }
  template <class T>
  void unless(const char* name, const T&, const std::type_identity_t<T>&, const Meaning& meaning = {}) {
    add<T>(name, meaning);
  }
  bool omits(const char*, bool) const { return false; }
  template <class Function>
  void derived(const char* name, Function, const Meaning& meaning = {}) {
    add<std::invoke_result_t<Function>>(name, meaning);
    required_.push_back(name);
  }
  template <class Function>
  void derived_if_any(const char* name, Function, const Meaning& meaning = {}) {
    add<typename std::invoke_result_t<Function>::value_type>(name, meaning);
  }
  void named(const char* name, const char* description) {
    name_ = name;
    description_ = description;
  }
  /// "oneOf" or "anyOf": which keys that may be left out stand together.
  void choice(const char* keyword, JsonNotes::KeySets sets) {
    choice_[keyword] = Json::array();
    for (const auto& keys : sets)
      choice_[keyword].push_back({{"required", std::vector<std::string>(keys.begin(), keys.end())}});
  }

 private:
  explicit JsonSchema(Json& definitions) : definitions_(definitions) {}

  static Json head(const char* id, const char* title) {
    return {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", id}, {"title", title}};
  }

  template <class T>
  void add(const char* name, const Meaning& meaning) {
    properties_[name] = shape<T>(meaning);
  }

  template <class T>
  Json shape(const Meaning& meaning) {
    Json json = Json::object();
    if (*meaning.text != '\0') json["description"] = meaning.text;
    json.update(type(std::type_identity<T>{}, meaning));
    return json;
  }

  template <class T>
  Json type(std::type_identity<T>, const Meaning& meaning) {
    if constexpr (is_named<T>) {
      Json names = Json::array();
      for (T value : enum_values<T>) names.push_back(std::string(to_string(value)));
      return {{"enum", std::move(names)}};
    } else if constexpr (std::same_as<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return {{"type", std::is_integral_v<T> ? "integer" : "number"}, {"minimum", meaning.least}};
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      return meaning.words == nullptr ? Json{{"type", "string"}} : Json{{"enum", meaning.words()}};
    } else {
      JsonSchema archive(definitions_);
      Json filled = archive.filled<T>();
      definitions_[archive.name_] = std::move(filled);
      return {{"$ref", std::string("#/$defs/") + archive.name_}};
    }
  }
  template <class T>
  Json type(std::type_identity<std::vector<T>>, const Meaning& meaning) {
    Json json = {{"type", "array"}, {"items", shape<T>({})}};
    if (meaning.least > 0) json["minItems"] = meaning.least;
    return json;
  }
  template <class T>
  Json type(std::type_identity<std::optional<T>>, const Meaning& meaning) {
    Json json;
    if constexpr (requires(JsonSchema archive, T value) { fields(archive, value); })
      json = JsonSchema(definitions_).filled<T>();
    else
      json = type(std::type_identity<T>{}, meaning);
    json["type"] = {json["type"], "null"};
    return json;
  }
  Json type(std::type_identity<std::variant<std::int64_t, double, std::string>>, const Meaning&) {
    return {{"type", {"number", "string"}}};
  }

  /// The schema of a struct, without a name.
  template <class T>
  Json filled() {
    T value{};
    fields(*this, value);
    Json json = {{"description", description_},         {"type", "object"},
                 {"properties", std::move(properties_)}, {"required", required_},
                 {"additionalProperties", false}};
    json.update(choice_);
    return json;
  }

  Json& definitions_;
  const char* name_ = "";
  const char* description_ = "";
  Json properties_ = Json::object(), choice_ = Json::object();
  std::vector<std::string> required_;
};

}  // namespace hybridkv
