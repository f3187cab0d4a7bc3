#include "scenarios/key_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"
#include "scenarios/spelled_at.h"

namespace hybridkv {

namespace {

std::string allowed(const KeyInfo& key) {
  const std::string from = fmt::format("allowed: whole numbers from {}", key.minimum);
  return key.maximum == std::numeric_limits<std::int64_t>::max() ? from : fmt::format("{} to {}", from, key.maximum);
}

[[noreturn]] void fail(const std::string& path, const YamlNode& node, const std::string& message) {
  throw error_at(node.place, path + ": " + message);
}

/// Fails unless the node is a scalar; `expected` as in "a list, where … is expected".
void require_scalar(const std::string& path, const YamlNode& node, std::string_view expected) {
  if (node.kind == YamlNode::Kind::nothing)
    fail(path, node, fmt::format("has no value; give {} or leave the key out", expected));
  if (node.kind != YamlNode::Kind::scalar)
    fail(path, node, fmt::format("{}, where {} is expected", describe(node), expected));
}

std::int64_t checked_range(const std::string& path, const YamlNode& node, const KeyInfo& key, std::int64_t value) {
  if (value < key.minimum) fail(path, node, fmt::format("{} is too small; {}", value, allowed(key)));
  if (value > key.maximum) fail(path, node, fmt::format("{} is too large; {}", value, allowed(key)));
  return value;
}

/// Why a key is unknown: the known keys that are close, also those one level down.
std::string unknown_key(const std::string& key, const SectionInfo& section) {
  std::vector<std::string> names;
  for (const KeyInfo& known : section.keys) {
    names.push_back(known.name);
    if (known.section && known.section->find(key))
      return fmt::format("unknown key {} in {}; did you mean '{}.{}'?", in_quotes(key), section.name, known.name, key);
  }
  return fmt::format("unknown key {} in {}{}", in_quotes(key), section.name, suggestion(key, names, "known keys:"));
}

/// Keeps the largest number of the scenario: where something outgrows 64 bits, that is the one to look at. Bytes come
/// in millions more than tokens and heads do.
void keep_largest(ReadContext& context, const std::string& path, const YamlNode& node, const KeyInfo& key) {
  const bool is_size = key.type == ValueType::size;
  if (!is_size && key.type != ValueType::integer && key.type != ValueType::integers) return;
  if (path.starts_with("verify.") || path.starts_with("simulate.")) return;  // no plan depends on them
  for (const YamlNode& item : node.items) keep_largest(context, path, item, key);
  if (node.kind != YamlNode::Kind::scalar) return;
  const ParsedNumber number = is_size ? parse_size(node.text) : parse_whole(node.text, key.form);
  const std::int64_t weight = is_size ? number.value >> 20 : number.value;
  if (!number.problem.empty() || (context.largest && weight <= context.largest_weight)) return;
  context.largest = {path, number.value, node.place};
  context.largest_weight = weight;
}

void add_places(SourceMap& places, const std::string& path, const YamlNode& value) {
  places.add(path, value.kind == YamlNode::Kind::mapping ? value.key_place : value.place);
  for (std::size_t i = 0; i < value.items.size(); ++i)
    places.add(fmt::format("{}[{}]", path, i), value.items[i].place);
}

}  // namespace

const KeyInfo* SectionInfo::find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& info) { return info.name == key; });
  return found == keys.end() ? nullptr : &*found;
}

std::int64_t read_integer(const std::string& path, const YamlNode& node, const KeyInfo& key) {
  require_scalar(path, node, "a whole number");
  // In quotes JSON writes a number with a unit, and no plain one.
  const bool has_unit = key.form == NumberForm::tokens && !parse_integer(node.text).problem.empty();
  if (node.quoted && !has_unit)
    fail(path, node, fmt::format("{} in quotes is text; write a whole number without quotes", in_quotes(node.text)));
  const ParsedNumber number = parse_whole(node.text, key.form);
  if (!number.problem.empty())
    fail(path, node, fmt::format("{} {}; {}", in_quotes(node.text), number.problem, allowed(key)));
  return checked_range(path, node, key, number.value);
}

std::vector<std::int64_t> read_integers(const std::string& path, const YamlNode& node, const KeyInfo& key) {
  if (node.kind != YamlNode::Kind::list) {
    if (node.kind != YamlNode::Kind::scalar || !is_range(node.text, key.form)) return {read_integer(path, node, key)};
    const ParsedRange range = parse_range(node.text, key.form);
    if (!range.problem.empty()) fail(path, node, fmt::format("the range {} {}", in_quotes(node.text), range.problem));
    for (const std::int64_t value : range.values) checked_range(path, node, key, value);
    return range.values;
  }
  if (node.items.empty()) fail(path, node, "an empty list; give at least one whole number or leave the key out");
  std::vector<std::int64_t> values;
  for (const YamlNode& item : node.items) {
    if (item.kind == YamlNode::Kind::list) fail(path, item, "a list, where a whole number is expected");
    const std::vector<std::int64_t> more = read_integers(path, item, key);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::int64_t read_size(const std::string& path, const YamlNode& node) {
  require_scalar(path, node, "an amount of memory");
  const ParsedNumber size = parse_size(node.text);
  if (!size.problem.empty()) fail(path, node, fmt::format("{} {}", in_quotes(node.text), size.problem));
  if (size.value == 0) fail(path, node, fmt::format("{} is less than one byte", in_quotes(node.text)));
  return size.value;
}

std::vector<std::int64_t> read_sizes(const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) return {read_size(path, node)};
  if (node.items.empty()) fail(path, node, "an empty list; give at least one amount or leave the key out");
  std::vector<std::int64_t> sizes;
  for (const YamlNode& item : node.items) sizes.push_back(read_size(path, item));
  return sizes;
}

double read_number(const std::string& path, const YamlNode& node) {
  require_scalar(path, node, "a number");
  if (node.quoted)
    fail(path, node, fmt::format("{} in quotes is text; write a number without quotes", in_quotes(node.text)));
  const ParsedReal number = parse_real(node.text);
  if (!number.problem.empty())
    fail(path, node, fmt::format("{} {}; allowed: numbers from 0", in_quotes(node.text), number.problem));
  return number.value;
}

std::vector<double> read_numbers(const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) return {read_number(path, node)};
  if (node.items.empty()) fail(path, node, "an empty list; give at least one number or leave the key out");
  std::vector<double> numbers;
  for (const YamlNode& item : node.items) numbers.push_back(read_number(path, item));
  return numbers;
}

std::string read_text(const std::string& path, const YamlNode& node) {
  require_scalar(path, node, "a text");
  if (node.text.empty()) fail(path, node, "an empty text");
  return node.text;
}

std::vector<std::string> read_choices(const std::string& path, const YamlNode& node, const KeyInfo& key) {
  if (node.kind != YamlNode::Kind::list) return {read_choice(path, node, key)};
  std::vector<std::string> words;
  for (const YamlNode& item : node.items) words.push_back(read_choice(path, item, key));
  if (words.empty()) fail(path, node, "an empty list");
  return words;
}

std::vector<std::string> read_texts(const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) return {read_text(path, node)};
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) texts.push_back(read_text(path, item));
  return texts;
}

bool read_flag(const std::string& path, const YamlNode& node) {
  require_scalar(path, node, "true or false");
  if (node.quoted || (node.text != "true" && node.text != "false"))
    fail(path, node, fmt::format("{} is neither true nor false", in_quotes(node.text)));
  return node.text == "true";
}

std::string read_choice(const std::string& path, const YamlNode& node, const KeyInfo& key) {
  require_scalar(path, node, "one of " + fmt::format("{}", fmt::join(key.choices, ", ")));
  if (std::find(key.choices.begin(), key.choices.end(), node.text) != key.choices.end()) return node.text;
  for (const auto& [synonym, meaning] : key.synonyms)
    if (synonym == node.text) return meaning;
  std::vector<std::string> known = key.choices;
  for (const auto& [synonym, meaning] : key.synonyms)
    if (edit_distance(synonym, meaning) > 2) known.push_back(synonym);  // no second spelling of the same word
  fail(path, node, fmt::format("{} is none of the allowed words: {}{}", in_quotes(node.text),
                               fmt::join(key.choices, ", "), did_you_mean(node.text, known)));
}

void check_list(const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list)
    fail(path, node, fmt::format("{}, where a list of mappings is expected", describe(node)));
  if (node.items.empty()) fail(path, node, "an empty list; give at least one mapping or leave the key out");
}

std::string path_of(const std::string& section_path, std::string_view key) {
  return section_path.empty() ? std::string(key) : section_path + "." + std::string(key);
}

void check_section(ReadContext& context, const std::string& path, const YamlNode& node, const SectionInfo& section) {
  const std::string prefix = path.empty() ? "" : path + ": ";
  if (node.kind != YamlNode::Kind::mapping)
    throw error_at(node.place, fmt::format("{}{}, where a mapping (key: value) is expected", prefix, describe(node)));
  for (const YamlEntry& entry : node.entries) {
    const KeyInfo* key = section.find(entry.key);
    if (!key) throw error_at(spelled_at(entry.value), unknown_key(entry.key, section));
    if (!context.keep_places || entry.value.left_out) continue;
    add_places(context.places, path_of(path, entry.key), entry.value);
    keep_largest(context, path_of(path, entry.key), entry.value, *key);
    for (const std::string& name : key->spec_names) add_places(context.places, path_of(path, name), entry.value);
  }
  std::vector<std::string> missing;
  for (const KeyInfo& key : section.keys)
    if (key.required && !node.find(key.name)) missing.push_back(fmt::format("'{}' is missing: {}", key.name, key.doc));
  if (!missing.empty())
    throw error_at(node.key_place, fmt::format("{}key {}", prefix, fmt::join(missing, "; key ")));
}

}  // namespace hybridkv
