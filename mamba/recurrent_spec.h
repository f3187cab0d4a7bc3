#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "mamba/gdn.h"
#include "mamba/kda.h"
#include "mamba/linear_attention.h"
#include "mamba/mamba1.h"
#include "mamba/mamba2.h"
#include "mamba/short_conv.h"

namespace hybridkv {

/// A recurrent layer of any family. A new family is a header of its own with a spec and `state_of`,
/// one alternative here and one name in `family_name`.
using RecurrentSpec = std::variant<GdnSpec, Mamba2Spec, Mamba1Spec, KdaSpec, ShortConvSpec, LinearAttentionSpec>;

/// The name in scenarios and JSON: "gdn", "mamba2", "mamba1", "kda", "short_conv", "linear".
std::string_view family_name(const RecurrentSpec& layer);

/// The state one layer keeps per rank and sequence position. Throws SpecError as the family's own.
StateSpec state_of(const RecurrentSpec& layer, const StateContext& context);

/// Tokens of one chunk of the family's parallel scan, where the family fixes it; grain of cache mode "all".
std::optional<std::int64_t> scan_chunk_tokens(const RecurrentSpec& layer);

/// Element type of the recurrent tensor, where the family fixes it whatever the model's dtype: fp32 for kda. A setting
/// of the user wins over it. Source: vLLM MambaStateDtypeCalculator.
std::optional<DType> fixed_ssm_dtype(const RecurrentSpec& layer);

}  // namespace hybridkv
