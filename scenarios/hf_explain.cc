#include "scenarios/hf_explain.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "attention/attention_spec.h"
#include "base/number_text.h"

namespace hybridkv {

namespace {

/// The path of the value at this place below `node`; nothing where none is.
std::optional<std::string> path_at(const YamlNode& node, const Place& place, const std::string& path) {
  if (same_place(node.place, place) && !path.empty()) return path;
  for (const YamlEntry& entry : node.entries)
    if (auto found = path_at(entry.value, place, path.empty() ? entry.key : path + "." + entry.key)) return found;
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto found = path_at(node.items[i], place, fmt::format("{}[{}]", path, i))) return found;
  return std::nullopt;
}

void add_number(std::vector<ImportedNumber>& numbers, const HfFields& fields, const std::string& key,
                const YamlNode& value) {
  ImportedNumber number{key, value.text, "", to_string(value.place)};
  for (const YamlNode* tree : fields.trees())
    if (tree->place.text == value.place.text && number.field.empty() && !key.ends_with(".type"))
      number.field = path_at(*tree, value.place, "").value_or("");
  if (fields.is_default(value)) number.origin = value.place.text->name;
  numbers.push_back(std::move(number));
}

std::int64_t count_in(const YamlNode& kind, const char* key) {
  const YamlNode* node = kind.find(key);
  return node ? std::strtoll(node->text.c_str(), nullptr, 10) : 0;
}

/// What the two keep of a kind; empty where it is the same.
std::string reading_of(const YamlNode& kind) {
  const std::string& type = kind.find("type")->text;
  if (type == "mla")
    return fmt::format(
        "engines keep one vector of {} channels a token; Transformers keeps the latent of {} and the {} for "
        "RoPE apart",
        count_in(kind, "kv_lora_rank") + count_in(kind, "rope_dim"), count_in(kind, "kv_lora_rank"),
        count_in(kind, "rope_dim"));
  if (type == to_string(AttentionKind::cross))
    return "engines keep K and V of the encoder's tokens in blocks of their own, from a request's start to its end; "
           "Transformers in a cache beside the decoder's";
  if (type == "sliding_window")
    return fmt::format(
        "engines keep whole blocks around the last {0} tokens and those in flight; Transformers keeps {1} "
        "rows",
        count_in(kind, "window_tokens"), count_in(kind, "window_tokens") - 1);
  if (const std::int64_t taps = count_in(kind, "conv_kernel"); taps > 0)
    return fmt::format(
        "engines keep {} rows of the convolution (taps - 1) and one for each draft token; Transformers keeps "
        "{}{}",
        taps - 1, taps, type == "short_conv" ? "" : ", and the recurrent state in float32 whatever the model's dtype");
  return "";
}

}  // namespace

std::vector<ImportedNumber> hf_numbers(const HfFields& fields, const YamlNode& model) {
  std::vector<ImportedNumber> numbers;
  for (const YamlEntry& entry : model.entries) {
    if (entry.key == "name" || entry.key == "source") continue;
    if (entry.key != "kinds") {
      add_number(numbers, fields, entry.key, entry.value);
      continue;
    }
    for (const YamlEntry& kind : entry.value.entries)
      for (const YamlEntry& value : kind.value.entries)
        add_number(numbers, fields, fmt::format("kinds.{}.{}", kind.key, value.key), value.value);
  }
  return numbers;
}

std::vector<std::string> hf_readings(const YamlNode& model) {
  std::vector<std::string> readings;
  for (const YamlEntry& kind : model.find("kinds")->entries) {
    std::string text = reading_of(kind.value);
    if (kind.value.find("indexer_bytes_per_entry"))
      text += std::string(text.empty() ? "" : "; ") +
              "index keys with their scales as engines pack them, Transformers in "
              "the model's dtype";
    if (!text.empty()) readings.push_back(kind.key + ": " + text);
  }
  return readings;
}

}  // namespace hybridkv
