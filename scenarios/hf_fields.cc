#include "scenarios/hf_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/key_builders.h"

namespace hybridkv {

namespace {

bool same_value(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same_value(a.items[i], b.items[i])) return false;
  return true;
}

}  // namespace

std::string describe_json(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar && !node.quoted ? node.text : describe(node);
}

HfFields::HfFields(const YamlNode& root) : root_(&root), text_(root.find("text_config")) {
  if (text_ && text_->kind == YamlNode::Kind::nothing) text_ = nullptr;
  if (text_ && text_->kind != YamlNode::Kind::mapping)
    fail_at(text_->place, "text_config: {}, where the fields of the language model are expected",
            describe_json(*text_));
}

HfFields::HfFields(const YamlNode& root, std::string prefix) : root_(&root), prefix_(std::move(prefix)) {}

std::vector<const YamlNode*> HfFields::scopes() const {
  return text_ ? std::vector<const YamlNode*>{text_, root_} : std::vector<const YamlNode*>{root_};
}

std::string HfFields::path(const std::string& name) const { return prefix_ + name; }

const YamlNode* HfFields::find(const std::vector<std::string>& names) const {
  for (const YamlNode* scope : scopes()) {
    const YamlNode* found = nullptr;
    std::string found_name;
    for (const std::string& name : names) {
      const YamlNode* value = scope->find(name);
      if (!value || value->kind == YamlNode::Kind::nothing) continue;
      if (found && !same_value(*found, *value))
        fail_at(value->place, "{} is {}, but {} in line {} is {}; both mean the same, so one is wrong", path(name),
                describe_json(*value), path(found_name), found->place.line, describe_json(*found));
      if (!found) {
        found = value;
        found_name = name;
      }
    }
    if (found) return found;
  }
  return nullptr;
}

std::string HfFields::found_path(const std::vector<std::string>& names) const {
  const YamlNode* value = find(names);
  for (const YamlNode* scope : scopes())
    for (const std::string& name : names)
      if (value && scope->find(name) == value) return path(name);
  return path(names.front());
}

InputError HfFields::missing(const std::vector<std::string>& names, const std::string& doc) const {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(path(name));
  const char* where = text_ ? " in text_config and at the top" : " at the top";
  const Place place = prefix_.empty() ? Place{root_->place.text, 0, 0} : root_->key_place;
  return error_at(place, fmt::format("field '{}' is missing: {}; looked for {}{}", paths.front(), doc,
                                     fmt::join(paths, ", "), prefix_.empty() ? where : ""));
}

std::optional<HfNumber> HfFields::optional_number(const std::vector<std::string>& names, std::int64_t minimum) const {
  const YamlNode* value = find(names);
  if (!value) return std::nullopt;
  const std::string name = found_path(names);
  return HfNumber{read_integer(name, *value, count(name, "", minimum)), name, value->place};
}

HfNumber HfFields::number(const std::vector<std::string>& names, const std::string& doc) const {
  const std::optional<HfNumber> found = optional_number(names);
  if (!found) throw missing(names, doc);
  return *found;
}

std::optional<std::vector<HfNumber>> HfFields::optional_numbers(const std::string& name, std::int64_t minimum) const {
  const YamlNode* value = find({name});
  if (!value) return std::nullopt;
  if (value->kind != YamlNode::Kind::list)
    fail_at(value->place, "{}: {}, where a list of whole numbers is expected", path(name), describe_json(*value));
  std::vector<HfNumber> numbers;
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    const std::string item = fmt::format("{}[{}]", path(name), i);
    numbers.push_back({read_integer(item, value->items[i], count(item, "", minimum)), item, value->items[i].place});
  }
  return numbers;
}

std::optional<HfFields> HfFields::section(const std::string& name) const {
  const YamlNode* value = find({name});
  if (!value) return std::nullopt;
  if (value->kind != YamlNode::Kind::mapping)
    fail_at(value->place, "{}: {}, where a mapping is expected", path(name), describe_json(*value));
  return HfFields(*value, path(name) + ".");
}

}  // namespace hybridkv
