#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// What a published config says of one layer.
enum class HfLayer {
  none,              ///< no cache: MLP or MoE
  attention,         ///< over every earlier token
  sliding,           ///< over a window
  recurrent,         ///< the recurrent kind of the model
  both,              ///< attention and recurrent side by side
  chunked,           ///< attention inside chunks
  indexed,           ///< attention to tokens that an indexer chooses
  both_sliding,      ///< attention over a window and recurrent side by side
  compressed,        ///< attention to compressed tokens beside a window, chosen by an indexer (CSA)
  heavily_compressed,///< attention to heavily compressed tokens beside a window (HCA)
  output_window,     ///< attention over the prompt and a window of the output
};

/// The layers of a model as one field of its config declares them.
struct HfPattern {
  std::vector<HfLayer> layers;  ///< never empty
  std::string field;            ///< that declares them, "layer_types"
  Place place;                  ///< of its value
  std::string text;             ///< where the field is a pattern of characters: that, else empty
};

/// Layers of the language model: num_hidden_layers under its published names, the decoder's of an encoder-decoder;
/// where a layer holds two attentions (longcat_flash), twice as many. Throws InputError where no name is declared.
HfNumber hf_num_layers(const HfFields& fields);

/// Does the config itself say which layers are of which kind, in any of the forms below?
bool declares_hf_layers(const HfFields& fields);

/// The layers of a config. Forms that list them or give a rule, each by a field of its own:
///   layer_types, layers_block_type  one name a layer: "full_attention", "mamba", "hybrid", …
///   hybrid_override_pattern         one character a layer: M, *, - and E
///   hybrid_layer_pattern            one number a layer: 0 is full attention, 1 a window
///   attn_type_list                  one number a layer: 1 is attention, 0 recurrent
///   block_types                     names that go round: "recurrent", "attention"
///   attn_layer_indices, full_attn_idxs, hybrid_layer_ids   numbers of the layers of one kind, from 0
///   linear_attn_config              kda_layers and full_attn_layers, from 1
///   full_attention_interval         every k-th layer is attention: (i + 1) % k == 0
///   sliding_window_pattern          every k-th layer has full attention, the others a window; or "LLLG"
///   attn_layer_period, attn_layer_offset   i % period == offset is attention
///   layer_group_size                the last of a group of k, and what is left after the last group, is attention
///   mamba_step                      i % step == step / 2 is attention, of fewer layers the last; without mamba_enabled
///                                   all
///   sparse_attention_config         sparse_attention_freq: 1 where a layer has an indexer
///   no_rope_layers                  0 is full attention, the others inside chunks, where attention_chunk_size is there
/// Where several are declared they must agree, and the number of layers must be num_hidden_layers where that is
/// declared; the first of them in this order gives the field. Where none is and use_sliding_window is true, layers from
/// max_window_layers on have a window; else the class of the model_type says it
/// (scenarios/hf_defaults.h), else all layers are alike: a window where sliding_window is declared, chunks where
/// attention_chunk_size is, else full attention. num_loops runs all layers as often, each time with caches of its own.
/// Throws InputError at the field: a name or character that means nothing, a number that is no layer, a contradiction.
/// Source: the configurations of these architectures in Hugging Face Transformers, and vLLM's models.
HfPattern read_hf_pattern(const HfFields& fields);

}  // namespace hybridkv
