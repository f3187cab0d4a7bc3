#include "scenarios/hf_unused.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "scenarios/hf_assumptions.h"
#include "scenarios/hf_encoder.h"
#include "scenarios/hf_fields.h"

namespace hybridkv {

namespace {

/// Has the model a kind of this type?
bool has_kind(const YamlNode& model, std::string_view type) {
  const YamlNode* const kinds = model.find("kinds");
  return std::any_of(kinds->entries.begin(), kinds->entries.end(), [&](const YamlEntry& kind) {
    const YamlNode* const name = kind.value.find("type");
    return name && name->text == type;
  });
}

/// Does a value say that there is nothing: null, false, 0, [], {} or ""?
bool says_nothing(const YamlNode& value) {
  switch (value.kind) {
    case YamlNode::Kind::nothing: return true;
    case YamlNode::Kind::scalar:
      return value.text.empty() || (!value.quoted && (value.text == "false" || value.text == "0"));
    case YamlNode::Kind::list: return value.items.empty();
    case YamlNode::Kind::mapping: return value.entries.empty();
  }
  return false;
}

/// A field with its value for a message: "sliding_window 4096".
std::string field_text(const std::string& path, const YamlNode& value) {
  return value.kind == YamlNode::Kind::scalar ? fmt::format("{} {}", path, in_quotes(value.text)) : path;
}

bool is_false(const HfFields& fields, const std::string& name) {
  const YamlNode* const value = fields.find_written({name});
  return value && value->kind == YamlNode::Kind::scalar && value->text == "false";
}

/// A field that limits how far attention looks back.
void add_window(std::vector<std::string>& notes, const HfFields& fields, const YamlNode& model, const std::string& name,
                const char* type) {
  const YamlNode* const value = fields.find_written({name});
  if (!value || says_nothing(*value) || has_kind(model, type)) return;
  notes.push_back(fmt::format("{} is not used: no layer is declared to have it, so full attention keeps every token; "
                              "where the engine keeps less, import the config and write type: {}, window_tokens: {} "
                              "into the kind of attention",
                              field_text(name, *value), type,
                              value->kind == YamlNode::Kind::scalar ? value->text : "N"));
}

void add_windows(std::vector<std::string>& notes, const HfFields& fields, const YamlNode& model) {
  const bool window_is_off = is_false(fields, "use_sliding_window");
  if (!window_is_off)
    for (const char* name : {"sliding_window", "sliding_window_size", "attention_window_size", "window_size"})
      add_window(notes, fields, model, name, "sliding_window");
  add_window(notes, fields, model, "attention_chunk_size", "chunked_local");
}

/// The flag that plans what a description of a quantised KV cache asks for; all formats where it does not tell.
std::string kv_flag(const YamlNode& value) {
  const auto number = [&](const char* name) {
    const YamlNode* const found = value.find(name);
    return found ? found->text : std::string();
  };
  if (contains_ignoring_case(value.text, "nvfp4")) return "--kv-dtype nvfp4 plans that";
  if (contains_ignoring_case(value.text, "e5m2")) return "--kv-dtype fp8_e5m2 plans that";
  if (contains_ignoring_case(value.text, "fp8") || contains_ignoring_case(value.text, "float8") ||
      contains_ignoring_case(value.text, "e4m3") || (number("num_bits") == "8" && number("type") == "float"))
    return "--kv-dtype fp8 plans that";
  if (number("num_bits") == "8" && number("type") == "int") return "--kv-dtype int8 plans that";
  return "--kv-dtype plans another (fp8, int8_per_token_head, nvfp4, ...)";
}

/// Every field below `node` whose name speaks of the KV cache; its value as a whole. The one at `used` is in the model.
void add_cache_types(std::vector<std::string>& notes, const std::string& path, const YamlNode& node,
                     const YamlNode* used) {
  for (const YamlEntry& entry : node.entries) {
    const std::string name = path + entry.key;
    const bool is_section = entry.key == "quantization_config" || entry.key == "compression_config" ||
                            entry.key == "quantization" || entry.key == "text_config";
    const bool of_cache = contains_ignoring_case(entry.key, "kv_cache") || entry.key == "cache_dtype";
    if (is_section) add_cache_types(notes, name + ".", entry.value, used);
    if (!of_cache || says_nothing(entry.value) || entry.value.text == "auto") continue;
    if (used && same_place(entry.value.place, used->place)) continue;
    notes.push_back(fmt::format("{} is not used: K and V are planned in the model's dtype; {}",
                                field_text(name, entry.value), kv_flag(entry.value)));
  }
}

/// Layers that predict further tokens: they are part of the checkpoint, and have a cache where the engine runs them.
void add_mtp_layers(std::vector<std::string>& notes, const HfFields& fields) {
  for (const char* name : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "mtp_num_layers", "num_mtp_layers",
                           "n_mtp_layers", "num_mtp_modules"}) {
    const YamlNode* const value = fields.find_written({name});
    if (!value || says_nothing(*value)) continue;
    const std::string layers = value->kind == YamlNode::Kind::scalar ? value->text : "N";
    notes.push_back(fmt::format("{} is not used: multi-token-prediction layers have a cache only where the engine runs "
                                "them; --set engine.mtp_layers={} --set engine.speculative_tokens={} plans that",
                                field_text(name, *value), layers, layers));
    return;  // under another name it is the same again
  }
}

/// An encoder of which no field says how much it reads.
void add_encoder(std::vector<std::string>& notes, const HfFields& fields, const YamlNode& model) {
  if (!hf_attends_to_encoder(fields) || model.find("encoder_tokens")) return;
  notes.push_back("no field says how many tokens the encoder reads at most, and cross-attention keeps K and V of each "
                  "for a request: --set engine.encoder_tokens=512 plans requests with so many");
}

}  // namespace

std::vector<std::string> unused_hf_fields(const HfFields& fields, const YamlNode& model) {
  std::vector<std::string> notes;
  add_windows(notes, fields, model);
  add_cache_types(notes, "", fields.root(), model.find("kv_dtype"));
  add_mtp_layers(notes, fields);
  add_encoder(notes, fields, model);
  const std::vector<std::string> assumed = hf_assumptions(fields, model);
  notes.insert(notes.end(), assumed.begin(), assumed.end());
  return notes;
}

}  // namespace hybridkv
