#pragma once

#include <optional>

#include "scenarios/hf_fields.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// Do the layers of the decoder attend to an encoder? Not where the class runs the decoder alone (BartForCausalLM).
bool hf_attends_to_encoder(const HfFields& fields);

/// Most tokens that the encoder reads; nothing where no field says it, as of T5, whose positions are relative.
std::optional<HfNumber> hf_encoder_tokens(const HfFields& fields);

/// Attention of a layer of the decoder to the encoder: it has the heads of the layer's own.
/// Source: the modules T5LayerCrossAttention, WhisperDecoderLayer.encoder_attn, T5GemmaCrossAttention of Transformers.
YamlNode hf_cross_kind(const HfFields& fields);

}  // namespace hybridkv
