#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace hybridkv {

/// Writing and reading of plain structs as JSON objects from one list of their fields, so that the names can not drift
/// apart. For each struct there is a function in namespace hybridkv
///
///   template <class Archive, Is<CapacityPlan> T>
///   void fields(Archive& archive, T& value) {
///     archive.named("capacity", "What fits at one length.");
///     archive("max_model_len", value.max_model_len, {"Tokens of one request.", 1});
///   }
///
/// and for each enum or constant a `to_string` and a specialisation of `enum_values`. Supported values: bool, 64-bit
/// integers, finite doubles, strings, a variant of these three, such enums and structs, std::vector and std::optional
/// (null) of them. What a field means is for the schema (report/json_schema.h).

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

/// All values of an enum, or of a pointer to one of a list of constants, for reading it by name.
template <class Named>
inline constexpr std::nullptr_t enum_values = nullptr;
template <>
inline constexpr auto enum_values<DType> = all_dtypes;

/// Is it written by its name?
template <class T>
inline constexpr bool is_named = std::is_enum_v<T> || std::is_pointer_v<T>;

/// What the schema says of a field beside its type.
struct Meaning {
  /// `least` of numbers, or of the items of a list.
  Meaning(const char* words_of_it = "", std::int64_t least_of_it = 0) : text(words_of_it), least(least_of_it) {}
  /// A text that is one of these.
  Meaning(const char* words_of_it, std::vector<std::string> (*allowed)()) : text(words_of_it), words(allowed) {}

  const char* text;
  std::int64_t least = 0;
  std::vector<std::string> (*words)() = nullptr;
};

/// What only the schema notes of a struct: its name with a description, and which of the keys that may be left out
/// stand together.
class JsonNotes {
 public:
  using KeySets = std::initializer_list<std::initializer_list<const char*>>;
  void named(const char*, const char*) {}
  void choice(const char*, KeySets) {}
};

/// Writes: every call appends a key, in the order of the calls.
class JsonWriter : public JsonNotes {
 public:
  static constexpr bool reads = false;
  nlohmann::ordered_json object = nlohmann::ordered_json::object();

  template <class T>
  void operator()(const char* name, const T& value, const Meaning& = {}) {
    object[name] = encode(value);
  }
  /// A key that is left out where the value is that of a default-constructed T.
  template <class T>
  void unless_default(const char* name, const T& value, const Meaning& = {}) {
    unless(name, value, T{});
  }
  /// A key that is left out where it has this value.
  template <class T>
  void unless(const char* name, const T& value, const std::type_identity_t<T>& omitted, const Meaning& = {}) {
    if (!(value == omitted)) object[name] = encode(value);
  }
  /// Is this key of an object left out? `is_plain`: what the writer knows.
  bool omits(const char*, bool is_plain) const { return is_plain; }
  /// A key that follows from other fields and is written for the reader's convenience.
  template <class Function>
  void derived(const char* name, Function value, const Meaning& = {}) {
    object[name] = encode(value());
  }
  /// The same of a number that not every object has: left out where the function gives none.
  template <class Function>
  void derived_if_any(const char* name, Function value, const Meaning& = {}) {
    if (const auto held = value()) object[name] = encode(*held);
  }

  template <class T>
  static nlohmann::ordered_json encode(const T& value) {
    if constexpr (is_named<T>) {
      return std::string(to_string(value));
    } else if constexpr (std::same_as<T, double>) {
      expects(std::isfinite(value), "numbers of a plan are finite");
      return value;
    } else if constexpr (requires(JsonWriter writer) { fields(writer, value); }) {
      JsonWriter writer;
      fields(writer, value);
      return std::move(writer.object);
    } else {
      return value;
    }
  }
  template <class T>
  static nlohmann::ordered_json encode(const std::vector<T>& values) {
    auto array = nlohmann::ordered_json::array();
    for (const T& value : values) array.push_back(encode(value));
    return array;
  }
  template <class T>
  static nlohmann::ordered_json encode(const std::optional<T>& value) {
    return value ? encode(*value) : nlohmann::ordered_json(nullptr);
  }
  static nlohmann::ordered_json encode(const std::variant<std::int64_t, double, std::string>& value) {
    return std::visit([](const auto& held) { return encode(held); }, value);
  }
};

/// Reads one object. Throws InputError with the path of the value ("plans[0].specs[2].kind") for a missing key, an
/// unknown key, a value of the wrong type, and a derived value that does not follow.
class JsonReader : public JsonNotes {
 public:
  static constexpr bool reads = true;
  using Json = nlohmann::ordered_json;

  JsonReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    require(object.is_object(), path_, "an object", object);
  }

  template <class T>
  void operator()(const char* name, T& value, const Meaning& = {}) {
    names_.push_back(name);
    const auto found = object_.find(name);
    if (found == object_.end()) fail(path_of(name), "missing");
    decode(*found, path_of(name), value);
  }
  template <class T>
  void unless_default(const char* name, T& value, const Meaning& = {}) {
    unless(name, value, T{});
  }
  template <class T>
  void unless(const char* name, T& value, const std::type_identity_t<T>& omitted, const Meaning& = {}) {
    if (object_.contains(name))
      (*this)(name, value);
    else
      value = omitted;
  }
  bool omits(const char* name, bool) const { return !object_.contains(name); }
  template <class Function>
  void derived(const char* name, Function value, const Meaning& = {}) {
    names_.push_back(name);
    checks_.push_back([this, name, value = std::move(value)] {
      const auto found = object_.find(name);
      if (found == object_.end()) fail(path_of(name), "missing");
      const Json expected = JsonWriter::encode(value());
      if (*found != expected)
        fail(path_of(name),
             fmt::format("is {}, but {} follows from the rest", short_text(*found), short_text(expected)));
    });
  }
  template <class Function>
  void derived_if_any(const char* name, Function value, const Meaning& = {}) {
    if (object_.contains(name))
      derived(name, [value = std::move(value)] { return value(); });
    else
      checks_.push_back([this, name, value = std::move(value)] {
        if (value()) fail(path_of(name), "missing");
      });
  }
  /// To be called after the last field.
  void finish() const {
    for (const auto& item : object_.items())
      if (std::find(names_.begin(), names_.end(), item.key()) == names_.end())
        fail(path_of(item.key()), fmt::format("unknown key; allowed here: {}", fmt::join(names_, ", ")));
    for (const auto& check : checks_) check();
  }

  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }
  [[noreturn]] static void fail(const std::string& path, const std::string& message) {
    throw InputError((path.empty() ? "the JSON" : path) + ": " + message);
  }

 private:
  static std::string short_text(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr std::size_t longest = 60;
    return text.size() > longest ? text.substr(0, longest) + "..." : text;
  }
  static void require(bool condition, const std::string& path, const std::string& what, const Json& value) {
    if (!condition) fail(path, fmt::format("must be {}, is {}", what, short_text(value)));
  }

  template <class T>
  static void decode(const Json& json, const std::string& path, T& value) {
    if constexpr (is_named<T>) {
      std::string allowed;
      for (T candidate : enum_values<T>) {
        if (json.is_string() && json.get_ref<const std::string&>() == to_string(candidate)) {
          value = candidate;
          return;
        }
        allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(candidate));
      }
      require(false, path, "one of " + allowed, json);
    } else if constexpr (std::same_as<T, bool>) {
      require(json.is_boolean(), path, "true or false", json);
      value = json.get<bool>();
    } else if constexpr (std::same_as<T, std::int64_t>) {
      const bool fits = json.is_number_unsigned()
                            ? json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                            : json.is_number_integer();
      require(fits, path, "a 64-bit integer", json);
      value = json.get<std::int64_t>();
    } else if constexpr (std::same_as<T, double>) {
      require(json.is_number(), path, "a number", json);
      value = json.get<double>();
    } else if constexpr (std::same_as<T, std::string>) {
      require(json.is_string(), path, "a string", json);
      value = json.get<std::string>();
    } else {
      JsonReader reader(json, path);
      fields(reader, value);
      reader.finish();
    }
  }
  template <class T>
  static void decode(const Json& json, const std::string& path, std::vector<T>& values) {
    require(json.is_array(), path, "an array", json);
    values.clear();
    for (const Json& item : json) {
      T value{};
      decode(item, fmt::format("{}[{}]", path, values.size()), value);
      values.push_back(std::move(value));
    }
  }
  template <class T>
  static void decode(const Json& json, const std::string& path, std::optional<T>& value) {
    value.reset();
    if (json.is_null()) return;
    decode(json, path, value.emplace());
  }
  /// A number or word; an integer and a double of the same value stay apart ("3" and "3.0").
  static void decode(const Json& json, const std::string& path,
                     std::variant<std::int64_t, double, std::string>& value) {
    if (json.is_string())
      value = json.get<std::string>();
    else if (json.is_number_float())
      value = json.get<double>();
    else
      decode(json, path, value.emplace<std::int64_t>());
  }

  const Json& object_;
  std::string path_;
  std::vector<std::string> names_;
  std::vector<std::function<void()>> checks_;
};

}  // namespace hybridkv
