#include "scenarios/hf_kind_parts.h"

#include "scenarios/model_tree.h"

namespace hybridkv {

void add_hf_number(YamlNode& kind, std::string_view key, const HfNumber& number) {
  tree_add(kind, std::string(key), tree_scalar(std::to_string(number.value), number.place));
}

YamlNode hf_typed_kind(std::string_view type, const Place& place) {
  YamlNode kind = tree_mapping(place);
  tree_add(kind, "type", tree_scalar(std::string(type), place));
  return kind;
}

YamlNode hf_kind(std::string_view type, HfEntries entries) {
  YamlNode kind = hf_typed_kind(type, entries.begin()->second.place);
  for (const auto& [key, number] : entries) add_hf_number(kind, key, number);
  return kind;
}

void require_hf_multiple(const HfNumber& whole, const char* wholes, const HfNumber& part, const char* parts) {
  if (whole.value % part.value == 0) return;
  fail_at(whole.place, "{}: {} {} are no multiple of {} {} ({} in line {}); one of the two is wrong", whole.name,
          whole.value, wholes, part.value, parts, part.name, part.place.line);
}

HfNumber hf_number_at(std::int64_t value, const HfNumber& from) { return {value, from.name, from.place}; }

}  // namespace hybridkv
