#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"

namespace hybridkv {

/// What a class of Hugging Face Transformers does with its layers and no field of its configs says.
struct HfClassRules {
  std::int64_t attention_width = 1;  ///< hidden sizes that attention sees side by side (Zamba: states and embeddings)
  std::int64_t attentions_a_layer = 1;  ///< each with a cache of its own (longcat_flash: shortcut-connected experts)
  std::int64_t window_kv_factor = 1;    ///< KV heads of layers with a window, for each of those with full attention
  bool every_layer_recurrent = false;   ///< unless a field tells its layers apart
  std::optional<DType> ssm_dtype;       ///< of recurrent states where the config names none; nothing: the model's
};

/// The rules of a model_type; those of any class where it has none of its own.
/// Source: the modelling classes of Transformers 5.23; vLLM, NemotronHForCausalLMConfig, for the states of nemotron_h.
const HfClassRules& hf_class_rules(const std::string& model_type);

}  // namespace hybridkv
