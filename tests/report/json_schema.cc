#include "tests/report/json_schema.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace hybridkv::testing {

namespace {

using Node = nlohmann::json;

bool has_type(const Node& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "integer")  // 3.0 is an integer to JSON Schema
    return value.is_number_integer() || (value.is_number() && std::trunc(value.get<double>()) == value.get<double>());
  throw std::logic_error("unknown type in the schema: " + type);
}

class Validator {
 public:
  explicit Validator(const Node& root) : root_(root) {}

  void check(const Node& schema, const Node& value, const std::string& path) {
    for (const auto& item : schema.items()) keyword(item.key(), item.value(), schema, value, path);
  }
  std::vector<std::string> violations;

 private:
  void fail(const std::string& path, const std::string& message) {
    violations.push_back((path.empty() ? "/" : path) + ": " + message);
  }

  void keyword(const std::string& name, const Node& rule, const Node& schema, const Node& value,
               const std::string& path) {
    static const std::set<std::string> notes{"$schema", "$id", "$defs", "title", "description"};
    if (notes.contains(name)) return;
    if (name == "$ref") {
      check(root_.at(Node::json_pointer(rule.get<std::string>().substr(1))), value, path);
    } else if (name == "type") {
      const std::vector<std::string> types =
          rule.is_array() ? rule.get<std::vector<std::string>>() : std::vector<std::string>{rule.get<std::string>()};
      if (std::none_of(types.begin(), types.end(), [&](const std::string& type) { return has_type(value, type); }))
        fail(path, "must be of type " + rule.dump() + ", is " + value.dump().substr(0, 40));
    } else if (name == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) fail(path, "must be one of " + rule.dump());
    } else if (name == "minimum") {
      if (value.is_number() && value < rule) fail(path, "must be at least " + rule.dump());
    } else if (name == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>()) fail(path, "needs " + rule.dump() + " items");
    } else if (name == "items") {
      if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) check(rule, value[i], path + "/" + std::to_string(i));
    } else if (name == "oneOf" || name == "anyOf") {
      alternatives(rule, value, path, name == "anyOf");
    } else {
      object_keyword(name, rule, schema, value, path);
    }
  }

  void object_keyword(const std::string& name, const Node& rule, const Node& schema, const Node& value,
                      const std::string& path) {
    if (name == "properties") {
      if (value.is_object())
        for (const auto& property : rule.items())
          if (value.contains(property.key()))
            check(property.value(), value[property.key()], path + "/" + property.key());
    } else if (name == "required") {
      if (value.is_object())
        for (const auto& key : rule)
          if (!value.contains(key.get<std::string>())) fail(path + "/" + key.get<std::string>(), "missing");
    } else if (name == "additionalProperties" && rule == false) {
      if (value.is_object())
        for (const auto& item : value.items())
          if (!schema["properties"].contains(item.key())) fail(path + "/" + item.key(), "unknown key");
    } else {
      throw std::logic_error("keyword this validator does not know: " + name);
    }
  }

  void alternatives(const Node& rule, const Node& value, const std::string& path, bool several) {
    std::size_t matches = 0;
    for (const Node& alternative : rule) {
      Validator branch(root_);
      branch.check(alternative, value, path);
      matches += branch.violations.empty() ? 1 : 0;
    }
    if (matches == 0 || (matches > 1 && !several))
      fail(path, "fits " + std::to_string(matches) + " of the alternatives " + rule.dump());
  }

  const Node& root_;
};

}  // namespace

std::vector<std::string> schema_violations(const Node& schema, const Node& value) {
  Validator validator(schema);
  validator.check(schema, value, "");
  return std::move(validator.violations);
}

}  // namespace hybridkv::testing
