#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// What a published config says of one layer.
enum class HfLayer {
  none,       ///< no cache: MLP or MoE
  attention,  ///< the architecture's attention
  sliding,    ///< attention over a window
  recurrent,  ///< the architecture's recurrent kind
  both,       ///< attention and recurrent side by side
  chunked,    ///< attention inside chunks
};

/// The layers of a model as one field of its config declares them.
struct HfPattern {
  std::vector<HfLayer> layers;  ///< never empty
  std::string field;            ///< that declares them, "layer_types"
  Place place;                  ///< of its value
  std::string text;             ///< where the field is a pattern of characters: that, else empty
};

/// The forms in which layer patterns are published. Each reads one field, or the fields that go together.
enum class HfPatternForm {
  layer_types,              ///< one name a layer: "full_attention", "linear_attention", …
  layers_block_type,        ///< one name a layer: "mamba", "attention", "hybrid", "mlp", …
  hybrid_override_pattern,  ///< one character a layer: M, *, - and E
  full_attention_interval,  ///< every k-th layer is attention: (i + 1) % k == 0
  attn_layer_indices,       ///< the numbers of the attention layers, from 0
  full_attn_idxs,           ///< the same under another name
  hybrid_layer_ids,         ///< the numbers of the layers that hold both kinds, from 0
  attn_layer_period,        ///< with attn_layer_offset: i % period == offset is attention
  linear_attn_config,       ///< kda_layers and full_attn_layers, from 1
  attn_type_list,           ///< 1 = attention, 0 = recurrent
  layer_group_size,         ///< the last layer of a group of k, and what is left after the last group, is attention
  mamba_step,               ///< i % step == step / 2 is attention, of fewer layers the last; all without mamba_enabled
  every_layer_both,         ///< no field: both kinds in each of num_hidden_layers layers
};

/// The layers of a config that may declare them in these forms. Where several are declared they must agree, and the
/// number of layers must be num_hidden_layers where that is declared; the first of them in the order above gives the
/// field. Throws InputError at the field: a name or character that means nothing, a number that is no layer, a
/// contradiction; and where none of the forms is declared, naming all the fields looked for. Source of the forms: the
/// configurations of these architectures in Hugging Face Transformers, and vLLM's models.
HfPattern read_hf_pattern(const HfFields& fields, const std::vector<HfPatternForm>& forms);

/// The fields that these forms read, and those of all forms that list the layers one by one.
std::vector<std::string> hf_pattern_fields(const std::vector<HfPatternForm>& forms);
std::vector<std::string> all_hf_pattern_fields();

}  // namespace hybridkv
