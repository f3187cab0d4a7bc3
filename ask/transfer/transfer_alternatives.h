#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/transfer/transfer.h"

namespace hybridkv {

/// The same request between sides that lay their pages out otherwise, both alike.
struct TransferAlternative {
  std::string order;                 ///< of both sides, as engine.physical_order has it; empty: not varied
  std::int64_t pack = 0;             ///< N; 0: not varied
  bool equal_blocks = false;         ///< engine.block_size_tokens of both is the larger of both own blocks
  bool turns_conv = false;           ///< the convolution states lie the other way round than asked about
  bool is_current = false;           ///< is it what was asked about?
  std::string refused;               ///< why a side has no such layout, in one line; empty: it has
  std::int64_t from_block_tokens = 0;
  std::int64_t to_block_tokens = 0;
  std::int64_t descriptors = 0;
  std::int64_t moved_bytes = 0;
  std::int64_t longest_run = 0;
  std::int64_t block_runs = 0;       ///< in which one block of the destination lies, of its attention; 0 without any
  std::int64_t checkpoint_runs = 0;  ///< in which one state of each layer of a group lies; 0 without any
};

/// What another order, pack size, block or layout of convolution states on both sides would make of it: every
/// combination of
///   orders   nhd, hnd and head_major, or of one allocation all six; where both sides are of one release
///   packs    1 and the numbers that divide the layers of full attention evenly, at most four; where packs exist
///   blocks   each side's own, or on both the larger one's
/// and, of the one with the fewest descriptors, the convolution states the other way round where a release lets one
/// choose: what that is worth. Rows are in that order. Ids are made as for the question, never those of files.
/// Cost: a list each, some milliseconds per 100,000 descriptors. `answer`: the one to the question.
std::vector<TransferAlternative> transfer_alternatives(
    const TransferQuestion& question, const TransferAnswer& answer,
    const std::function<void(int done, int total)>& on_progress = {});

/// The row with the fewest descriptors; of several the one that changes least, then the first. Nothing where all are
/// refused.
std::optional<std::size_t> fewest_descriptors(const std::vector<TransferAlternative>& rows,
                                              const TransferAnswer& answer);

}  // namespace hybridkv
