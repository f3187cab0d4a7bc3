#pragma once

#include <cstddef>
#include <vector>

#include "layout/view.h"

namespace hybridkv {

/// The state of one layer in one page: borrowed tensors with the planner's strides.
/// A tensor that the family does not have has no base.
struct StateView {
  TensorView conv;  ///< (step, channel), oldest input first
  TensorView ssm;   ///< axes as the family's `state_of` names them

  bool has_conv() const { return conv.base != nullptr; }
  bool has_ssm() const { return ssm.base != nullptr; }
};

/// All bytes of a state, conv first, each tensor in logical order.
std::vector<std::byte> saved_state(const StateView& state);

/// Puts the bytes of a snapshot back, bit for bit. Pre: taken from a state of the same shapes and dtypes.
void restore(const StateView& state, std::span<const std::byte> bytes);

/// Bit for bit, between any two places with the same shapes and dtypes, which may overlap.
void copy_state(const StateView& from, const StateView& to);

/// Every byte of the state, and no other of its page, becomes zero: the start of a sequence.
void zero_state(const StateView& state);

/// Elements of a tensor in logical order, widened.
std::vector<float> load_tensor(const TensorView& tensor);

/// Stores values in logical order, each rounded once to the tensor's dtype.
/// Pre: as many values as the tensor has elements.
void store_tensor(const TensorView& tensor, std::span<const float> values);

}  // namespace hybridkv
