#pragma once

#include <string_view>

namespace hybridkv {

/// What the layers of an architecture have that no field of its config says.
enum class HfTrait {
  query_bias,       ///< projections of queries, keys and values have biases
  output_bias,      ///< that of what attention puts out has
  no_output_bias,   ///< it has none though attention_bias says so of the others
  gate_in_query,    ///< the projection of queries also makes a gate of the same size
  head_gate,        ///< a gate for each head, or of each channel, from a projection of its own
  channel_gate,
  sinks,            ///< a number for each head that attention may look at in place of a token
  head_norms,       ///< norms of queries and keys, of one head or of all side by side
  wide_norms,
  shares_values,    ///< layers that use another layer's K and V have no projections of their own
  no_gate,          ///< MLPs without a gate: two matrices
  mlp_bias,
  expert_bias,      ///< routed experts and their router have biases
  shared_gate,      ///< a gate of the shared expert
  one_shared,       ///< one shared expert that no field counts
  layer_norm,       ///< norms with biases
  one_norm,         ///< norms of a layer, where they are not two
  no_norm,
  four_norms,
  one_mixer,        ///< a layer is a mixer or an MLP, not both
  full_rank_gates,  ///< Kimi delta attention whose gates have no inner rank
  inner_norms,      ///< norms of dt, B and C (Mamba-1)
  inner_is_mlp,     ///< intermediate_size is the inner size of the recurrence
  plain_state,      ///< no norm before the output (Mamba-2) unless mamba_rms_norm asks for one
  head_layer,       ///< a layer of its own before the head
  two_mlps,         ///< a second MLP for tokens of another modality
  positions,        ///< a table of learned positions, 1,024 where the config does not say how many
  short_positions,  ///< 512 of them
  long_positions,   ///< 2,048 of them
  half_size,        ///< intermediate_size counts gate and value together
  hyper_short,      ///< connections between streams have 2n rows, not (2 + n)n
  shared_layers,    ///< a few layers of attention with their MLPs serve all layers that have one
  experts_beside,   ///< each two mixers, with a dense MLP each, have routed experts beside them
};

/// Does the architecture with this model_type have the trait?
bool has_trait(std::string_view model_type, HfTrait trait);

/// Has it any?
bool has_traits(std::string_view model_type);

}  // namespace hybridkv
