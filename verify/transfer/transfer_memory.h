#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "verify/transfer/transfer_traffic.h"

namespace hybridkv {

/// An entry of a source rank that holds what a state was some tokens earlier.
struct OlderState {
  std::int64_t rank = 0;
  ModelTensor tensor;
  std::vector<std::int64_t> ids;  ///< by piece
};

/// Source ranks in memory, filled: those that were asked for and not released, as far as a budget has room; the one
/// that was not asked for the longest goes first, and is filled again when it is.
class TransferMemory {
 public:
  /// `pages`: (stage). All is borrowed. Pre: each rank alone fits the budget.
  TransferMemory(std::span<const TransferRank> ranks, std::span<const HeldPages> pages, std::int64_t budget_bytes,
                 const TransferTraffic& traffic, const std::optional<OlderState>& older)
      : ranks_(ranks), pages_(pages), budget_bytes_(budget_bytes), traffic_(traffic), older_(older) {}

  /// Holds until the next call.
  const RankMemory& get(std::int64_t rank);
  /// It will not be asked for again. Its memory serves the next rank of its stage, whose elements lie in the same
  /// places.
  void release(std::int64_t rank);
  std::int64_t resident_bytes() const;

 private:
  std::list<RankMemory>::iterator find(std::int64_t rank);
  RankMemory& make(const TransferRank& rank, const HeldPages& pages);
  std::int64_t bytes() const;

  std::span<const TransferRank> ranks_;
  std::span<const HeldPages> pages_;
  std::int64_t budget_bytes_;
  const TransferTraffic& traffic_;
  const std::optional<OlderState>& older_;
  std::list<RankMemory> memory_;  // the longest unused first
  std::list<RankMemory> unused_;  // at most one
};

}  // namespace hybridkv
