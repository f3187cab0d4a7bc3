#pragma once

#include <cstdint>
#include <functional>

#include "transfer/copy_box.h"
#include "transfer/held_tensor.h"

namespace hybridkv {

/// A run of a state between two pieces. Bytes count from the first byte of the tensor's part in the piece of id 0.
struct StatePieceRun {
  std::size_t from_piece = 0;  ///< HeldTensor::pieces
  std::size_t to_piece = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  BoxRun bytes;
};

/// Calls visit(rank of the source, run) for everything of a state tensor that one rank of the destination reads: by
/// sections and parts of them, the rows alone that hold inputs, cut where pieces end.
/// Pre: check_exchange and check_shares accept both.
void for_each_state_run(const HeldTensor& from, std::int64_t from_ranks, const HeldTensor& to, std::int64_t to_ranks,
                        std::int64_t to_rank,
                        const std::function<void(std::int64_t from_rank, const StatePieceRun&)>& visit);

/// Bytes of the whole tensor at the destination, each part once: of all ranks without copies.
std::int64_t whole_state_bytes(const HeldTensor& to);

}  // namespace hybridkv
