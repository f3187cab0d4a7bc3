#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/named_values.h"
#include "layout/layout.h"

namespace hybridkv {

/// Which axis of a convolution state lies outside. Source: vLLM VLLM_SSM_CONV_STATE_LAYOUT.
enum class ConvStateLayout {
  sd,  ///< the steps: a row of all channels for each input
  ds,  ///< the channels: the inputs of one side by side, so that a run of channels is a run of bytes
};

inline constexpr auto conv_state_layout_names = std::to_array<Named<ConvStateLayout>>(
    {{ConvStateLayout::sd, "sd"},
     {ConvStateLayout::ds, "ds"}});

constexpr std::string_view to_string(ConvStateLayout value) { return name_in(conv_state_layout_names, value); }
constexpr std::optional<ConvStateLayout> parse_conv_state_layout(std::string_view name) {
  return value_in(conv_state_layout_names, name);
}

/// What the shape of a state depends on besides the model.
struct StateContext {
  std::int64_t tensor_parallel = 1;     ///< ranks that split heads and channels, >= 1
  std::int64_t speculative_tokens = 0;  ///< draft tokens per step, lengthen the convolution state, >= 0
  DType conv_dtype = DType::bf16;       ///< element type of the convolution state
  DType ssm_dtype = DType::bf16;        ///< element type of the recurrent state
  bool kda_keeps_all_taps = false;      ///< the convolution of kda layers keeps K inputs, not the K - 1 it reads
};

/// One tensor of a recurrent state, per rank and sequence position.
struct StateTensor {
  std::string name;              ///< "conv", "ssm", of a ring of inputs "x_ring", "dt_ring" and "b_ring"
  DType dtype = DType::fp32;
  Layout layout;                 ///< dense, axes outermost first, offset 0, elements of `dtype`
  std::int64_t byte_offset = 0;  ///< from the first byte of the page; a multiple of the element size

  std::int64_t bytes() const { return Checked(layout.num_elements()) * element_bytes(dtype); }
  bool operator==(const StateTensor&) const = default;
};

/// Where the tensors of a state lie in their page.
struct StatePlacement {
  std::int64_t first_byte = 0;      ///< of the page, at which the first of them begins
  std::int64_t alignment = 1;       ///< bytes of which the beginnings are multiples, beside their elements
  bool recurrent_first = false;     ///< the convolution lies behind what else there is
  bool operator==(const StatePlacement&) const = default;
};

/// The recurrent tensors of one Mamba-like layer for one sequence position, per rank: what one page holds.
/// Invariant: tensors lie one after the other as they are placed, each on a multiple of its element size; or each has a
/// place of its own and begins with it.
struct StateSpec {
  std::vector<StateTensor> tensors;  ///< conv first, wherever they lie
  std::int64_t bytes = 0;            ///< M: end of the last tensor
  std::int64_t padding_bytes = 0;    ///< bytes before and between tensors, spent on alignment; part of `bytes`
  bool operator==(const StateSpec&) const = default;
};

/// Does its page hold the inputs of the last tokens too (ReplaySSM)?
inline bool has_replay_ring(const StateSpec& state) {
  return state.tensors.size() > 2 && state.tensors[2].name == "x_ring";
}

/// Lays tensors one after the other, conv first, each rounded up to a multiple of its element size; or as the placement
/// says. Axes need names and extents only; strides are made dense. Source: vLLM MambaSpec; other placements: ours.
StateSpec place_state_tensors(std::vector<StateTensor> tensors, const StatePlacement& placement = {});

/// The same where each tensor has a place of its own: all begin at byte 0 of it, and there are no gaps.
StateSpec place_state_tensors_apart(std::vector<StateTensor> tensors);

}  // namespace hybridkv
