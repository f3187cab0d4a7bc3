#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/kv_view.h"
#include "base/rank_share.h"
#include "transfer/side.h"

namespace hybridkv {

/// What a tensor is to its layer; with draft, layer and name it says which tensor of the other side is the same.
enum class TensorClass { attention, hidden_state, indexer, state, ring };

struct TensorKey {
  TensorClass kind = TensorClass::attention;
  bool draft = false;
  std::int64_t layer = 0;
  std::string tensor;  ///< "kv", "conv", "ssm", "ring"
  auto operator<=>(const TensorKey&) const = default;
};

/// "layer 3 kv", "draft layer 0 kv".
std::string tensor_label(const TensorKey& key);

/// One tensor of one layer as the ranks of one stage hold it, each its share, all in the same places.
struct HeldTensor {
  TensorKey key;
  std::int64_t stage = 0;
  std::int64_t table = 0;                ///< group of the stage whose ids its block axis counts
  const SpecPlan* spec = nullptr;
  const LayerSet* set = nullptr;         ///< of the whole model
  std::vector<const ViewPlan*> pieces;   ///< one; of a state in several pages each of them, by ViewPlan::piece

  const ViewPlan& view() const { return *pieces.front(); }
  bool is_by_token() const { return spec->attention.has_value(); }
  DType dtype() const { return view().dtype; }
  /// The tensor of the state it is. Pre: not by token.
  const StateTensor& state_tensor() const;
};

/// All of a side but what needs no move: the inputs of drafts that an engine keeps beside a state.
/// Borrows from the side.
std::vector<HeldTensor> held_tensors(const TransferSide& side);

/// Heads, groups or channels in which ranks share a tensor.
struct SharedParts {
  std::int64_t parts = 1;     ///< of the whole model; 1: every rank holds all
  std::int64_t elements = 1;  ///< of the axis that ranks split, for one part
};

/// Of attention the KV heads; of a convolution its sections one after the other; of a recurrent tensor its heads or
/// channels; of a ring one part. Pre for all: what the model says, before any padding.
std::vector<SharedParts> shared_parts(const HeldTensor& tensor);

}  // namespace hybridkv
