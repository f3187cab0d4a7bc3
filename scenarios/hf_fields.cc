#include "scenarios/hf_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "scenarios/hf_defaults.h"
#include "scenarios/key_builders.h"

namespace hybridkv {

namespace {

bool same_value(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same_value(a.items[i], b.items[i])) return false;
  return true;
}

/// Sections in which published configs keep the language model, as paths, the usual first.
constexpr const char* text_sections[] = {"text_config", "llm_config", "thinker_config.text_config", "decoder_config",
                                         "language_config", "decoder"};

/// The mapping at a path of one or two names; null where one of them is absent or null.
const YamlNode* section_at(const YamlNode& root, const std::string& path) {
  const YamlNode* node = &root;
  for (std::size_t begin = 0; begin != std::string::npos;) {
    const std::size_t dot = path.find('.', begin);
    node = node->find(path.substr(begin, dot == std::string::npos ? dot : dot - begin));
    if (!node || node->kind == YamlNode::Kind::nothing) return nullptr;
    begin = dot == std::string::npos ? dot : dot + 1;
  }
  return node;
}

/// Fields that a model around a language model says for both.
bool is_of_whole(const std::string& name) {
  return name == "dtype" || name == "torch_dtype" || name.starts_with("mamba_ssm") || name.starts_with("tie_") ||
         name.find("mtp") != std::string::npos || name.find("nextn") != std::string::npos;
}

std::string scalar_text(const YamlNode* node) {
  return node && node->kind == YamlNode::Kind::scalar ? node->text : std::string();
}

/// A part of a parsed entry of the table, which keeps the entry alive.
std::shared_ptr<const YamlNode> part_of(const std::shared_ptr<const YamlNode>& entry, std::string_view key) {
  const YamlNode* part = entry ? entry->find(key) : nullptr;
  return part ? std::shared_ptr<const YamlNode>(entry, part) : nullptr;
}

}  // namespace

std::string describe_json(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar && !node.quoted ? node.text : describe(node);
}

HfFields::HfFields(const YamlNode& root) : root_(&root) {
  for (const char* name : text_sections) {
    text_ = section_at(root, name);
    if (!text_) continue;
    text_name_ = name;
    if (text_->kind != YamlNode::Kind::mapping)
      fail_at(text_->place, "{}: {}, where the fields of the language model are expected", name, describe_json(*text_));
    break;
  }
  const std::string outer = scalar_text(root.find("model_type"));
  const std::string inner = text_ ? scalar_text(text_->find("model_type")) : std::string();
  const std::shared_ptr<const YamlNode> composite = outer.empty() ? nullptr : hf_class_defaults(outer);
  const std::string text_class = composite ? scalar_text(composite->find("text")) : std::string();
  use_class(!inner.empty() ? inner : !text_class.empty() ? text_class : outer);
  const std::shared_ptr<const YamlNode> inside = part_of(composite, "inside");
  if (inside) defaults_.insert(defaults_.begin(), inside);
}

HfFields::HfFields(const YamlNode& root, std::string prefix) : root_(&root), prefix_(std::move(prefix)) {}

void HfFields::use_class(const std::string& model_type) {
  model_type_ = model_type;
  defaults_.clear();
  if (const auto defaults = model_type.empty() ? nullptr : hf_class_defaults(model_type)) defaults_.push_back(defaults);
}

HfFields HfFields::with(const YamlNode& overrides) const {
  HfFields changed = *this;
  changed.layer_ = &overrides;
  return changed;
}

const YamlNode* HfFields::own_of_layer(std::int64_t layer, std::initializer_list<std::string_view> kinds) const {
  const YamlNode* layers = find_written({"per_layer_config"});
  if (layers && layers->kind == YamlNode::Kind::mapping) {
    for (const YamlEntry& entry : layers->entries) {
      std::int64_t number = -1;  // keys are padded with zeros: "05"
      const char* const end = entry.key.data() + entry.key.size();
      const bool is_number = std::from_chars(entry.key.data(), end, number).ptr == end;
      if (is_number && number == layer && entry.value.kind == YamlNode::Kind::mapping) return &entry.value;
    }
    return nullptr;
  }
  const YamlNode* by_kind = class_default("by_layer");
  for (const std::string_view kind : kinds)
    if (const YamlNode* own = by_kind ? by_kind->find(kind) : nullptr) return own;
  return nullptr;
}

HfFields HfFields::as_class(const std::string& model_type) const {
  HfFields changed = *this;
  changed.use_class(model_type);
  return changed;
}

std::vector<const YamlNode*> HfFields::scopes(const std::vector<std::string>& names) const {
  std::vector<const YamlNode*> all;
  if (layer_) all.push_back(layer_);
  if (text_) all.push_back(text_);
  // What stands at the top of a model around a known language model is of the whole, not of the language model.
  if (!text_ || !has_class() || is_of_whole(names.front())) all.push_back(root_);
  return all;
}

std::string HfFields::path(const std::string& name) const { return prefix_ + name; }

std::vector<std::string> HfFields::published_names(const std::vector<std::string>& names) const {
  std::vector<std::string> all = names;
  for (const auto& defaults : defaults_) {
    const YamlNode* others = defaults->find("names");
    for (const std::string& name : names)
      if (const YamlNode* other = others ? others->find(name) : nullptr;
          other && std::find(all.begin(), all.end(), other->text) == all.end())
        all.push_back(other->text);
  }
  return all;
}

const YamlNode* HfFields::find_in(const YamlNode& scope, const std::vector<std::string>& names, bool& is_null) const {
  const YamlNode* found = nullptr;
  std::string found_name;
  for (const std::string& name : names) {
    const YamlNode* value = scope.find(name);
    if (value && value->kind == YamlNode::Kind::nothing) is_null = true;
    if (!value || value->kind == YamlNode::Kind::nothing) continue;
    if (found && !same_value(*found, *value))
      fail_at(value->place, "{} is {}, but {} in line {} is {}; both mean the same, so one is wrong", path(name),
              describe_json(*value), path(found_name), found->place.line, describe_json(*found));
    if (!found) {
      found = value;
      found_name = name;
    }
  }
  return found;
}

const YamlNode* HfFields::find_written(const std::vector<std::string>& names) const {
  bool is_null = false;
  const std::vector<std::string> all = published_names(names);
  for (const YamlNode* scope : scopes(names))
    if (const YamlNode* found = find_in(*scope, all, is_null)) return found;
  return nullptr;
}

const YamlNode* HfFields::find(const std::vector<std::string>& names) const {
  bool is_null = false;
  const std::vector<std::string> all = published_names(names);
  for (const YamlNode* scope : scopes(names))
    if (const YamlNode* found = find_in(*scope, all, is_null)) return found;
  return is_null ? nullptr : find_default(all);
}

const YamlNode* HfFields::find_default(const std::vector<std::string>& names) const {
  for (const auto& defaults : defaults_)
    for (const std::string& name : names)
      if (const YamlNode* value = defaults->find(name)) {
        const bool is_nothing = value->kind == YamlNode::Kind::nothing;
        // A language model that the file describes is read by its own class, but for what the outer class switches off.
        if (text_ && defaults != defaults_.back() && !is_nothing) continue;
        return is_nothing ? nullptr : value;
      }
  const YamlNode* derived = class_default("derived");
  if (!derived || !has_default_width()) return nullptr;
  for (const std::string& name : names)
    if (const YamlNode* value = derived->find(name)) return value;
  return nullptr;
}

const YamlNode* HfFields::class_default(const std::string& name) const {
  return defaults_.empty() ? nullptr : defaults_.back()->find(name);
}

bool HfFields::has_default_width() const {
  for (const char* name : {"hidden_size", "num_attention_heads"}) {
    const std::vector<std::string> names = published_names({name});
    bool is_null = false;
    const YamlNode* written = find_in(text_ ? *text_ : *root_, names, is_null);
    if (!written) continue;
    const bool same = std::any_of(names.begin(), names.end(), [&](const std::string& known) {
      const YamlNode* value = defaults_.back()->find(known);
      return value && same_value(*value, *written);
    });
    if (!same) return false;
  }
  return true;
}

std::vector<const YamlNode*> HfFields::trees() const {
  std::vector<const YamlNode*> all{root_};
  for (const auto& defaults : defaults_) all.push_back(defaults.get());
  return all;
}

bool HfFields::is_default(const YamlNode& node) const {
  return std::any_of(defaults_.begin(), defaults_.end(),
                     [&](const auto& defaults) { return node.place.text == defaults->place.text; });
}

std::string HfFields::found_path(const std::vector<std::string>& names) const {
  const YamlNode* value = find(names);
  if (!value) return path(names.front());
  std::vector<const YamlNode*> all = scopes(names);
  for (const auto& defaults : defaults_) all.push_back(defaults.get());
  for (const YamlNode* scope : all)
    for (const std::string& name : published_names(names))
      if (scope->find(name) == value) return path(name);
  return path(names.front());
}

InputError HfFields::missing(const std::vector<std::string>& names, const std::string& doc) const {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(path(name));
  const std::string where = text_ ? fmt::format(" in {} and at the top", text_name_) : " at the top";
  const Place place = prefix_.empty() ? Place{root_->place.text, 0, 0} : root_->key_place;
  const bool is_known = has_class() || !prefix_.empty() || model_type_.empty();
  return error_at(
      place, fmt::format("field '{}' is missing: {}; looked for {}{}{}", paths.front(), doc, fmt::join(paths, ", "),
                         prefix_.empty() ? where : "", is_known ? "" : hf_ways_out()));
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

bool HfFields::flag(const std::string& name, bool otherwise) const {
  const YamlNode* value = find({name});
  return value ? read_flag(path(name), *value) : otherwise;
}

std::optional<HfFields> HfFields::section(const std::string& name) const {
  const YamlNode* value = find({name});
  if (!value) return std::nullopt;
  if (value->kind != YamlNode::Kind::mapping)
    fail_at(value->place, "{}: {}, where a mapping is expected", path(name), describe_json(*value));
  return HfFields(*value, path(name) + ".");
}

}  // namespace hybridkv
