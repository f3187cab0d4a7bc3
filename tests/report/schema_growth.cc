#include "tests/report/schema_growth.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace hybridkv::testing {

namespace {

using Schema = nlohmann::json;
using Lines = std::vector<std::string>;

void check_keywords(const Schema& node) {
  static const std::set<std::string> known{
      "$schema",  "$id",   "$defs",    "title",    "description", "$ref",      "type",      "properties",
      "required", "items", "minItems", "maxItems", "minimum",     "maximum",   "minLength", "minProperties",
      "pattern",  "enum",  "oneOf",    "anyOf",    "additionalProperties", "propertyNames"};
  for (const auto& item : node.items())
    if (!known.contains(item.key())) throw std::logic_error("no rule for the keyword of a schema: " + item.key());
}

class CompareAnswer {
 public:
  CompareAnswer(const Schema& old_root, const Schema& new_root, SchemaUse use)
      : old_root_(old_root), new_root_(new_root), is_input_(use == SchemaUse::input) {}

  Lines breaks(const Schema& old_written, const Schema& new_written, const std::string& path) {
    const Schema& was = target(old_root_, old_written);
    const Schema& is = target(new_root_, new_written);
    const auto [known, is_new] = known_.try_emplace({&was, &is});
    if (!is_new) return known->second;  // a shape inside itself, or compared before: told of once
    check_keywords(was);
    check_keywords(is);
    Lines lines = is_choice(was) || is_choice(is) ? choice_breaks(was, is, path) : shape_breaks(was, is, path);
    if (is_choice(was) && is.contains("properties")) append(lines, shape_breaks(was, is, path));
    known_[{&was, &is}] = lines;
    return lines;
  }

 private:
  static const Schema& target(const Schema& root, const Schema& node) {
    if (!node.contains("$ref")) return node;
    return target(root, root.at(Schema::json_pointer(node.at("$ref").get<std::string>().substr(1))));
  }

  static bool is_choice(const Schema& node) { return node.contains("anyOf") || node.contains("oneOf"); }

  /// The alternatives of a choice; of any other shape itself.
  static std::vector<const Schema*> alternatives(const Schema& node) {
    if (!is_choice(node)) return {&node};
    std::vector<const Schema*> all;
    for (const Schema& one : node.contains("anyOf") ? node.at("anyOf") : node.at("oneOf")) all.push_back(&one);
    return all;
  }

  static void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

  static std::string at(const std::string& path) { return (path.empty() ? "/" : path) + ": "; }

  /// Each alternative that there was needs one that keeps its promises; told is what the closest one breaks.
  Lines choice_breaks(const Schema& was, const Schema& is, const std::string& path) {
    Lines lines;
    for (const Schema* old_one : alternatives(was)) {
      std::optional<Lines> closest;
      for (const Schema* new_one : alternatives(is)) {
        const Lines these = breaks(*old_one, *new_one, path);
        if (!closest || these.size() < closest->size()) closest = these;
      }
      append(lines, closest.value_or(Lines{at(path) + "an alternative is gone"}));
    }
    if (!is_input_ && !is_choice(was)) lines.push_back(at(path) + "has alternatives now");
    return lines;
  }

  Lines shape_breaks(const Schema& was, const Schema& is, const std::string& path) {
    Lines lines;
    append(lines, type_breaks(was, is, path));
    append(lines, enum_breaks(was, is, path));
    append(lines, property_breaks(was, is, path));
    append(lines, required_breaks(was, is, path));
    append(lines, bound_breaks(was, is, path));
    append(lines, part_breaks(was, is, path, "items", "/[]"));
    append(lines, part_breaks(was, is, path, "propertyNames", "/<name>"));
    append(lines, other_key_breaks(was, is, path));
    if (is_input_ ? is.contains("pattern") && was.value("pattern", Schema()) != is.at("pattern")
                  : was.contains("pattern") && is.value("pattern", Schema()) != was.at("pattern"))
      lines.push_back(at(path) + "another pattern, which may match other texts");
    return lines;
  }

  /// Nothing where every type fits; an integer is a number as well.
  static std::optional<std::set<std::string>> types_of(const Schema& node) {
    std::set<std::string> types;
    if (node.contains("type")) {
      const Schema& type = node.at("type");
      if (type.is_array()) types = type.get<std::set<std::string>>();
      else types.insert(type.get<std::string>());
    } else if (node.contains("enum")) {
      for (const Schema& word : node.at("enum")) types.insert(word.type_name());
    } else {
      return std::nullopt;
    }
    return types;
  }

  static bool holds(const std::set<std::string>& types, const std::string& type) {
    return types.contains(type) || (type == "integer" && types.contains("number"));
  }

  Lines type_breaks(const Schema& was, const Schema& is, const std::string& path) const {
    const auto old_types = types_of(was), new_types = types_of(is);
    Lines lines;
    // Of an input the old ones have to be among the new ones, of an output the other way round.
    const auto& fewer = is_input_ ? old_types : new_types;
    const auto& more = is_input_ ? new_types : old_types;
    if (!more) return lines;
    if (!fewer) return {at(path) + (is_input_ ? "of any type before" : "of any type now")};
    for (const std::string& type : *fewer)
      if (!holds(*more, type)) lines.push_back(at(path) + type + (is_input_ ? " is taken no more" : " is new"));
    return lines;
  }

  Lines enum_breaks(const Schema& was, const Schema& is, const std::string& path) const {
    if (!was.contains("enum")) return is_input_ && is.contains("enum") ? Lines{at(path) + "any word before"} : Lines{};
    if (!is.contains("enum")) return is_input_ ? Lines{} : Lines{at(path) + "any word now"};
    Lines lines;
    for (const Schema& word : was.at("enum"))
      if (std::find(is.at("enum").begin(), is.at("enum").end(), word) == is.at("enum").end())
        lines.push_back(at(path) + word.dump() + " is gone");
    return lines;
  }

  Lines property_breaks(const Schema& was, const Schema& is, const std::string& path) {
    Lines lines;
    const Schema none = Schema::object();
    const Schema& now = is.contains("properties") ? is.at("properties") : none;
    for (const auto& item : (was.contains("properties") ? was.at("properties") : none).items()) {
      const std::string below = path + "/" + item.key();
      if (now.contains(item.key())) append(lines, breaks(item.value(), now.at(item.key()), below));
      else lines.push_back(below + ": is gone");
    }
    return lines;
  }

  Lines required_breaks(const Schema& was, const Schema& is, const std::string& path) const {
    const auto required = [](const Schema& node) {
      return node.value("required", Schema::array()).get<std::set<std::string>>();
    };
    Lines lines;
    for (const std::string& key : required(is_input_ ? is : was))
      if (!required(is_input_ ? was : is).contains(key))
        lines.push_back(path + "/" + key + (is_input_ ? ": required now" : ": required no more"));
    return lines;
  }

  /// Of an input a bound may move outwards, of an output inwards.
  Lines bound_breaks(const Schema& was, const Schema& is, const std::string& path) const {
    Lines lines;
    const auto check = [&](const char* name, bool is_lower) {
      const Schema& tighter = is_input_ ? was : is;
      const Schema& wider = is_input_ ? is : was;
      if (!wider.contains(name)) return;
      const bool fits = tighter.contains(name) && (is_lower ? tighter.at(name) >= wider.at(name)
                                                            : tighter.at(name) <= wider.at(name));
      if (!fits) lines.push_back(at(path) + name + (is_input_ ? " is stricter" : " is looser"));
    };
    for (const char* name : {"minimum", "minItems", "minLength", "minProperties"}) check(name, true);
    for (const char* name : {"maximum", "maxItems"}) check(name, false);
    return lines;
  }

  Lines part_breaks(const Schema& was, const Schema& is, const std::string& path, const char* name,
                    const std::string& step) {
    if (was.contains(name) && is.contains(name)) return breaks(was.at(name), is.at(name), path + step);
    if (is_input_ ? is.contains(name) : was.contains(name))
      return {at(path) + name + (is_input_ ? " is checked now" : " is promised no more")};
    return {};
  }

  Lines other_key_breaks(const Schema& was, const Schema& is, const std::string& path) {
    const Schema any = true;
    const Schema& before = was.contains("additionalProperties") ? was.at("additionalProperties") : any;
    const Schema& now = is.contains("additionalProperties") ? is.at("additionalProperties") : any;
    if (before.is_object() && now.is_object()) return breaks(before, now, path + "/*");
    if (before == now) return {};
    const bool is_break = is_input_ ? before != false && now != true : before != true && now != false;
    return is_break ? Lines{at(path) + "other keys than before"} : Lines{};
  }

  const Schema& old_root_;
  const Schema& new_root_;
  bool is_input_;
  std::map<std::pair<const Schema*, const Schema*>, Lines> known_;
};

}  // namespace

std::vector<std::string> schema_breaks(const Schema& old_schema, const Schema& new_schema, SchemaUse use) {
  if (old_schema.at("$id") != new_schema.at("$id")) return {};
  Lines lines = CompareAnswer(old_schema, new_schema, use).breaks(old_schema, new_schema, "");
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

}  // namespace hybridkv::testing
