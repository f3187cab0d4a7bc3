#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/key_mask.h"
#include "transfer/request_tables.h"
#include "transfer/side.h"
#include "verify/layout/bound_view.h"
#include "verify/layout/cache_contents.h"
#include "verify/transfer/rank_parts.h"

namespace hybridkv {

/// K and V of a layer as one rank keeps them for one request; of a layer without heads one row a token.
struct RankTokens {
  ModelTensor name;
  const SpecPlan* spec = nullptr;
  const LayerSet* set = nullptr;                 ///< of the whole model
  const BoundView* view = nullptr;
  Layout key, value;                             ///< (block, token, head, channel) bytes of the pool
  bool has_values = true;                        ///< false: V is part of K, or there is none
  const std::vector<std::int64_t>* table = nullptr;
  std::vector<std::int64_t> heads;               ///< of the whole model, in the rank's order
  std::int64_t first_token = 0, end_token = 0;   ///< those that the request still needs
  KeyMask mask;                                  ///< of the layer

  const AttentionGeometry& attention() const { return *spec->attention; }
  std::int64_t element_bytes() const { return view->element_bytes(); }
  /// Of K or V of one head.
  std::int64_t row_bytes(bool is_value) const {
    return (is_value ? value : key).extent("channel") * element_bytes();
  }
  /// Do the channels of a head lie side by side?
  bool has_rows() const {
    return key.stride("channel") == element_bytes() && value.stride("channel") == element_bytes();
  }
  /// Slot of a token: id times block and the place in it. Pre: its block is held.
  std::int64_t slot(std::int64_t token) const;
  /// Byte of the pool where the first channel of K or V of a slot and a head of the rank starts.
  std::int64_t byte_of(std::int64_t slot, std::int64_t head, bool is_value) const;
  /// Bytes of all tokens from `first` on.
  std::int64_t live_bytes(std::int64_t first) const;
};

/// Neighbouring elements of a state.
struct StateRun {
  std::int64_t byte = 0;   ///< of the pool
  std::int64_t first = 0;  ///< in the rows of RankState, one behind the other
  std::int64_t count = 0;
};

/// One tensor of a state as one rank keeps it for one request: rows of elements that are of use.
/// Of a convolution the steps that hold inputs, oldest first, without those for drafts; of a recurrent state the heads,
/// or channels; of a ring all.
struct RankState {
  ModelTensor name;
  const SpecPlan* spec = nullptr;
  const LayerSet* set = nullptr;                 ///< of the whole model
  const StateTensor* tensor = nullptr;
  std::vector<const BoundView*> pieces;
  const std::vector<std::int64_t>* ids = nullptr;///< of the entry, by piece
  PartedRow parts;                               ///< of the whole layer: of a step, or of the state
  std::vector<std::int64_t> columns;             ///< of the whole step, of a convolution; else the heads
  std::int64_t rows = 0, width = 0;

  bool is_conv() const { return name.tensor == "conv"; }
  DType dtype() const { return tensor->dtype; }
  std::int64_t pool() const { return pieces.front()->view.pool; }
  std::int64_t elements() const { return rows * width; }
  /// Where the elements lie, in their order; `at`: ids of another entry, by piece.
  std::vector<StateRun> runs(std::span<const std::int64_t> at) const;
  std::vector<StateRun> runs() const { return runs(*ids); }
  /// What was computed for all of them.
  std::vector<float> values(std::uint64_t tensor_key) const;
  /// "step 2, v, part 3, channel 5" of an element.
  std::string element_name(std::int64_t element) const;
};

/// What one rank of a side keeps of one request. Borrows the side and the tables.
struct TransferRank {
  /// Throws InputError where the rank keeps other heads or channels than the rules here give it.
  TransferRank(const TransferSide& side, const RequestTables& tables, std::int64_t rank, std::int64_t tokens);
  TransferRank(TransferRank&&) = default;

  const CachePlan* plan;
  std::int64_t number;  ///< among all ranks of the side
  std::int64_t rank;    ///< among those that share heads
  std::int64_t ranks;
  std::vector<BoundView> views;
  std::vector<RankTokens> tokens;
  std::vector<RankState> states;

  /// Bytes that a request has there, from token `first_token` on.
  std::int64_t live_bytes(std::int64_t first_token) const;
  const RankTokens* find_tokens(const ModelTensor& name) const;
  const RankState* find_state(const ModelTensor& name) const;
};

/// All ranks of both sides. Where one side forgets that a layer has a window and keeps every token, the other does not
/// have them: the window holds for both. Throws as TransferRank.
struct TransferRanks {
  std::vector<TransferRank> from, to;
  TransferRanks(const TransferSide& from, const TransferSide& to, const RequestTables& from_tables,
                const RequestTables& to_tables, std::int64_t tokens);
};

}  // namespace hybridkv
