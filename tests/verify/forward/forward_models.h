#pragma once

#include <stdexcept>
#include <vector>

#include "planner/model_spec.h"
#include "verify/forward/forward_case.h"

namespace hybridkv::testing {

inline const AttentionSpec full{AttentionKind::full, 4, 2, 16, 16, 0};
inline const AttentionSpec window{AttentionKind::sliding_window, 4, 2, 16, 16, 20};

/// Ten layers, every second one attention.
inline ModelSpec small_hybrid(const RecurrentSpec& recurrent, DType dtype,
                              const AttentionSpec& attention = full,
                              int layers = 10) {
  ModelSpec model;
  model.name = "small hybrid";
  model.dtype = dtype;
  for (int i = 0; i < layers; ++i) {
    LayerSpec layer;
    if (i % 2 == 0)
      layer.recurrent = recurrent;
    else
      layer.attention = attention;
    model.layers.push_back(layer);
  }
  return model;
}

/// Sizes of states are powers of two where they can be, so that pages of several states stay small.
inline std::vector<RecurrentSpec> small_families() {
  return {GdnSpec{2, 4, 16, 16, 4},  Mamba2Spec{8, 8, 16, 2, 4, 16}, Mamba1Spec{32, 16, 4},
          KdaSpec{2, 16, 4, false}, KdaSpec{2, 16, 4, true},        ShortConvSpec{64, 3},
          LinearAttentionSpec{4, 16}, RgLruSpec{64, 4, 4},          Rwkv4Spec{32, 64},
          RwkvSpec{6, 32, 4, 16},    RwkvSpec{7, 32, 4, 16},        XlstmSpec{4, 15, 16},
          CcaSpec{4, 2, 8, 2, 2, 32}, StreamConvsSpec{2, 16, 16, 4}};
}

/// Four such layers, and behind them one that reads the K and V of the last, or one that attends to an encoder, where
/// the fault is about such.
inline ModelSpec model_for(ForwardFault fault, const RecurrentSpec& recurrent, DType dtype,
                           const AttentionSpec& attention) {
  ModelSpec model = small_hybrid(recurrent, dtype, attention, 4);
  if (fault == ForwardFault::foreign_source)
    model.layers.push_back({.shared = SharedKv{3, attention.query_heads, std::nullopt}});
  if (fault == ForwardFault::foreign_encoder || fault == ForwardFault::encoder_past_end) {
    model.layers.push_back({.cross = AttentionSpec{AttentionKind::cross, 4, 2, 16, 16, 0}});
    model.encoder_tokens = 37;
  }
  return model;
}

/// The case that finds a planted fault of an engine.
inline ForwardCase owner_of(const ForwardFaultInfo& info) {
  for (const ForwardCase forward_case : all_forward_cases())
    if (to_string(forward_case) == info.found_by) return forward_case;
  throw std::logic_error("a fault names a case");
}

}  // namespace hybridkv::testing
