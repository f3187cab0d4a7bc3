#pragma once

#include <string>

#include "planner/model_parameters.h"
#include "scenarios/hf_mlp_parameters.h"

namespace hybridkv {

/// What the pattern of a model file says of one layer, as far as its parameters go.
struct HfBlock {
  std::string kind;         ///< as in the pattern: "m", "a+m", "-"
  bool has_attention = false;
  const YamlNode* attention = nullptr;  ///< its kind of attention in the model file, where it has one
  const YamlNode* recurrent = nullptr;  ///< and its recurrent kind
  bool is_windowed = false;
  std::string family;       ///< of its recurrent part; empty: it has none
  HfMlp mlp = HfMlp::by_rule;
  bool is_shared = false;   ///< its attention and MLP are those of an earlier layer
};

/// Parameters of one layer: mixers, MLP, norms and what connects it to others.
/// Throws InputError for numbers too large for 64 bits.
ParameterCounts hf_layer_parameters(const HfShape& layer, const HfBlock& block);

/// Of a layer of a decoder beside an encoder: what attends to its outputs; of a layer of that encoder itself.
ParameterCounts hf_cross_parameters(const HfShape& layer);
ParameterCounts hf_encoder_parameters(const HfShape& layer);

}  // namespace hybridkv
