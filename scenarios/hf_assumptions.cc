#include "scenarios/hf_assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "scenarios/hf_defaults.h"
#include "scenarios/hf_layer_pattern.h"

namespace hybridkv {

namespace {

/// Parts of names of fields that speak of recurrent layers.
constexpr const char* recurrent_words[] = {"ssm",  "mamba",     "state_size",  "linear_attn", "linear_num", "recurren",
                                           "rwkv", "retention", "conv_kernel", "conv_l",      "lru",        "delta_net",
                                           "kda",  "time_mix",  "hyena",       "layer_types", "block_type"};

bool is_attention(const YamlNode& kind) {
  const std::string& type = kind.find("type")->text;
  return type == "full_attention" || type == "sliding_window" || type == "chunked_local" || type == "mla" ||
         type == "shared_kv";
}

bool has_recurrent_kind(const YamlNode& model) {
  const std::vector<YamlEntry>& kinds = model.find("kinds")->entries;
  return std::any_of(kinds.begin(), kinds.end(), [](const YamlEntry& kind) {
    return !is_attention(kind.value) && kind.value.find("type")->text != "none";
  });
}

/// Does a value say that there is something: no null, false, 0, or empty list?
bool says_something(const YamlNode& value) {
  if (value.kind == YamlNode::Kind::scalar) return value.quoted || (value.text != "false" && value.text != "0");
  return !value.items.empty() || !value.entries.empty();
}

}  // namespace

std::vector<std::string> hf_assumptions(const HfFields& fields, const YamlNode& model) {
  if (fields.has_class()) return {};
  std::vector<std::string> notes;
  const auto assume = [&](const std::string& what, const char* field) {
    notes.push_back(fmt::format("{} is no class of {}, so it is read by its fields; assumed: {} (no {} says otherwise)",
                                in_quotes(fields.model_type()), hf_defaults_package(), what, field));
  };
  if (!declares_hf_layers(fields)) assume("all layers are alike", "layer_types");
  if (!fields.find({"kv_lora_rank"}) && !fields.find({"num_key_value_heads"}) && !fields.find({"multi_query"}) &&
      !fields.find({"num_kv_heads"}))
    assume("each query head has K and V of its own", "num_key_value_heads");
  if (!fields.find({"kv_lora_rank"}) && !fields.find({"head_dim"}) && !fields.find({"hidden_size_per_head"}))
    assume("a head has its share of hidden_size", "head_dim");
  const bool has_attention =
      std::any_of(model.find("kinds")->entries.begin(), model.find("kinds")->entries.end(),
                  [](const YamlEntry& kind) { return is_attention(kind.value); });
  if (!has_attention && notes.size() > 1) notes.resize(1);
  return notes;
}

void refuse_unread_states(const HfFields& fields, const YamlNode& model) {
  if (fields.has_class() || has_recurrent_kind(model) || declares_hf_layers(fields)) return;
  for (const YamlEntry& entry : (fields.text() ? *fields.text() : fields.root()).entries)
    for (const char* word : recurrent_words)
      if (contains_ignoring_case(entry.key, word) && says_something(entry.value))
        throw error_at(
            entry.value.key_place,
            fmt::format("{} speaks of recurrent layers, but no field says in a known way which layers they are "
                        "(looked for layer_types, layers_block_type, …){}",
                        entry.key, hf_ways_out()));
}

}  // namespace hybridkv
