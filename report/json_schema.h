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
    Json schema = JsonSchema(definitions).filled<T>();
    return document(id, title, std::move(schema), std::move(definitions));
  }
  /// The schema of a value that is one of several structs.
  template <class... T>
  static Json of_one(const char* id, const char* title, const char* description) {
    Json definitions = Json::object();
    Json one_of = Json::array();
    (one_of.push_back(JsonSchema(definitions).type(std::type_identity<T>{}, {})), ...);
    return document(id, title, {{"description", description}, {"oneOf", std::move(one_of)}}, std::move(definitions));
  }

  template <class T>
  void operator()(const char* name, const T&, const Meaning& meaning = {}) {
    put(name, meaning, type(std::type_identity<T>{}, meaning), true);
  }
  template <class T>
  void unless_default(const char* name, const T&, const Meaning& meaning = {}) {
    put(name, meaning, type(std::type_identity<T>{}, meaning), false);
  }
  /// An option that is left out where it is empty is never null.
  template <class T>
  void unless_default(const char* name, const std::optional<T>&, const Meaning& meaning = {}) {
    put(name, meaning, type(std::type_identity<T>{}, meaning), false);
  }
  template <class T>
  void unless(const char* name, const T& value, const std::type_identity_t<T>&, const Meaning& meaning = {}) {
    unless_default(name, value, meaning);
  }
  bool omits(const char*, bool) const { return false; }
  template <class Function>
  void derived(const char* name, Function, const Meaning& meaning = {}) {
    put(name, meaning, type(std::type_identity<std::invoke_result_t<Function>>{}, meaning), true);
  }
  template <class Function>
  void derived_if_any(const char* name, Function, const Meaning& meaning = {}) {
    using Held = typename std::invoke_result_t<Function>::value_type;
    put(name, meaning, type(std::type_identity<Held>{}, meaning), false);
  }
  void named(const char* name, const char* description) {
    name_ = name;
    description_ = description;
  }
  /// "oneOf" or "anyOf": which keys that may be left out stand together.
  void choice(const char* keyword, JsonNotes::KeySets sets);

 private:
  explicit JsonSchema(Json& definitions) : definitions_(definitions) {}

  template <class T>
  Json type(std::type_identity<T>, const Meaning& meaning) {
    if constexpr (is_named<T>) {
      std::vector<std::string> names;
      for (T value : enum_values<T>) names.emplace_back(to_string(value));
      return words(names);
    } else if constexpr (std::same_as<T, bool>) {
      return plain("boolean");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return number(std::is_integral_v<T> ? "integer" : "number", meaning.least);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      return meaning.words == nullptr ? plain("string") : words(meaning.words());
    } else {
      JsonSchema archive(definitions_);
      Json filled = archive.filled<T>();
      return definition(archive.name_, std::move(filled));
    }
  }
  template <class T>
  Json type(std::type_identity<std::vector<T>>, const Meaning& meaning) {
    return list(type(std::type_identity<T>{}, {}), meaning.least);
  }
  template <class T>
  Json type(std::type_identity<std::optional<T>>, const Meaning& meaning) {
    if constexpr (requires(JsonSchema archive, T value) { fields(archive, value); })
      return or_null(JsonSchema(definitions_).filled<T>());
    else
      return or_null(type(std::type_identity<T>{}, meaning));
  }
  Json type(std::type_identity<std::variant<std::int64_t, double, std::string>>, const Meaning&) {
    return {{"type", {"number", "string"}}};
  }

  /// The schema of a struct, without a name.
  template <class T>
  Json filled() {
    T value{};
    fields(*this, value);
    return object();
  }

  static Json document(const char* id, const char* title, Json schema, Json definitions);
  static Json plain(const char* type);
  static Json number(const char* type, std::int64_t least);
  static Json words(const std::vector<std::string>& allowed);
  static Json list(Json item, std::int64_t least);
  static Json or_null(Json schema);
  Json definition(const char* name, Json schema);
  Json object();
  void put(const char* name, const Meaning& meaning, Json type, bool is_required);

  Json& definitions_;
  const char* name_ = "";
  const char* description_ = "";
  Json properties_ = Json::object(), choice_ = Json::object();
  std::vector<std::string> required_;
};

}  // namespace hybridkv
