#include "scenarios/hf_encoder.h"

#include <string>

#include "attention/attention_spec.h"
#include "scenarios/hf_attention.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

bool hf_attends_to_encoder(const HfFields& fields) {
  if (!fields.flag("add_cross_attention", true)) return false;
  // Of a decoder in a section of its own the section says that it is none.
  const YamlNode* whole = fields.root().find("is_encoder_decoder");
  const bool is_said = whole && whole->kind == YamlNode::Kind::scalar && whole->text == "true";
  if (!is_said && !fields.flag("is_encoder_decoder", false)) return false;
  const YamlNode* names = fields.root().find("architectures");
  const bool is_named = names && names->kind == YamlNode::Kind::list && !names->items.empty();
  return !is_named || !names->items.front().text.ends_with("ForCausalLM");
}

std::optional<HfNumber> hf_encoder_tokens(const HfFields& fields) {
  for (const char* name : {"max_source_positions", "max_encoder_position_embeddings", "n_positions"})
    if (auto number = fields.optional_number({name})) return number;
  if (const auto encoder = fields.section("encoder"))
    if (auto number = encoder->optional_number({"max_position_embeddings"})) return number;
  return fields.optional_number({"max_position_embeddings"});
}

YamlNode hf_cross_kind(const HfFields& fields) {
  YamlNode kind = hf_attention_kind(fields, HfLayer::attention, 0);
  for (YamlEntry& entry : kind.entries)
    if (entry.key == "type") entry.value.text = to_string(AttentionKind::cross);
  return kind;
}

}  // namespace hybridkv
