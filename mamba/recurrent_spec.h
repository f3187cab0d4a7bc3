#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "mamba/cca.h"
#include "mamba/gdn.h"
#include "mamba/kda.h"
#include "mamba/linear_attention.h"
#include "mamba/mamba1.h"
#include "mamba/mamba2.h"
#include "mamba/rg_lru.h"
#include "mamba/rwkv.h"
#include "mamba/rwkv4.h"
#include "mamba/short_conv.h"
#include "mamba/stream_convs.h"
#include "mamba/xlstm.h"

namespace hybridkv {

template <StateFamily... Spec>
using FamilyVariant = std::variant<Spec...>;

/// A recurrent layer of any family. A new family is a header and a source of its own, with all that StateFamily asks
/// for, and one alternative here; scenarios, plans, derivations and proofs go by this list.
using RecurrentSpec = FamilyVariant<GdnSpec, Mamba2Spec, Mamba1Spec, KdaSpec, ShortConvSpec, LinearAttentionSpec,
                                    RgLruSpec, Rwkv4Spec, RwkvSpec, XlstmSpec, CcaSpec, StreamConvsSpec>;

/// Calls `visit` with a default spec of each family, in the order of RecurrentSpec.
template <class Visit>
void for_each_family(Visit visit) {
  const auto all = [&]<class... Spec>(std::type_identity<std::variant<Spec...>>) { (visit(Spec{}), ...); };
  all(std::type_identity<RecurrentSpec>{});
}

/// The name in scenarios and JSON: "gdn", "mamba2", "rg_lru".
std::string_view family_name(const RecurrentSpec& layer);

/// The state one layer keeps per rank and sequence position. Throws SpecError as the family's own.
StateSpec state_of(const RecurrentSpec& layer, const StateContext& context);

/// The projections side by side in the convolution of a whole layer; none without one.
std::vector<ChannelSection> sections_of(const RecurrentSpec& layer);

/// The layer with as many heads more as let the ranks share them, where engines pad the heads of its family (gdn), else
/// the layer itself. Source: SGLang adjust_tp_num_heads_if_necessary.
RecurrentSpec with_padded_heads(const RecurrentSpec& layer, std::int64_t tensor_parallel);

/// Lets the convolution of the layer keep rows of draft tokens, whatever its family does by itself; not one that every
/// rank keeps whole, which has none. Source: vLLM 0.33.
void hold_drafts(RecurrentSpec& layer);

/// Gives the layer as many groups of B and C (mamba2) or key heads (gdn) as there are ranks, where these do not divide
/// them, whether that is more or fewer. Source: SGLang 0.5.23 Mamba2StateShape.
/// Example: granite-4.0-h-small, one group, TP 4: four, conv channels (8192 + 2 * 4 * 128) / 4 = 2304.
void extend_groups(RecurrentSpec& layer, std::int64_t tensor_parallel);

/// Tokens of one chunk of the family's parallel scan, where the family fixes it; grain of cache mode "all".
std::optional<std::int64_t> scan_chunk_tokens(const RecurrentSpec& layer);

/// Whether the layer scans nothing: its state is that of convolutions and delays, and is known after any token.
bool convolves_alone(const RecurrentSpec& layer);

/// Element type of the recurrent tensor, where the family fixes it whatever the model's dtype: fp32 for kda. A setting
/// of the user wins over it.
std::optional<DType> fixed_ssm_dtype(const RecurrentSpec& layer);

}  // namespace hybridkv
