#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "verify/check_result.h"
#include "verify/layout/cache_contents.h"
#include "verify/layout/pool_set.h"
#include "verify/transfer/transfer_pages.h"
#include "verify/transfer/transfer_rank.h"

namespace hybridkv {

/// Element types that a side keeps its tensors in.
using ElementTypes = std::map<ModelTensor, DType>;
ElementTypes element_types(std::span<const TransferRank> ranks);

/// One rank of a side in real memory.
struct RankMemory {
  const TransferRank* rank;     ///< any of the stage: all have their elements in the same places
  const HeldPages& pages;
  CanarySide side;
  PoolSet pools;

  /// Reserves the pools and fills the pages with canaries. Throws ResourceError as PoolSet.
  RankMemory(const TransferRank& rank, const HeldPages& pages, CanarySide side);

  /// "source rank 3", "destination rank 0".
  std::string who() const;
};

/// What is written to a cache and read from it: values by the places of elements in the model. `source` are the types
/// in which values were computed; what lies in others has been rounded once more.
struct TransferTraffic {
  std::uint64_t seed = 1;
  const ElementTypes& source;

  std::uint64_t key(const ModelTensor& tensor) const { return key_of(seed, tensor); }
};

/// Writes K and V of tokens [first, end), as far as the request still needs them.
void write_tokens(const RankMemory& memory, const TransferTraffic& traffic, std::int64_t first, std::int64_t end);

/// Writes all states.
void write_states(const RankMemory& memory, const TransferTraffic& traffic);
/// Writes one state into another entry, with other values: what it was some tokens earlier. `at`: its ids, by piece.
void write_older_state(const RankMemory& memory, const TransferTraffic& traffic, const RankState& state,
                       std::span<const std::int64_t> at);

/// Compares every K and V with what belongs there and puts canaries in its place. `count` = elements.
CheckResult take_tokens(const RankMemory& memory, const TransferTraffic& traffic);

/// The same of every state.
CheckResult take_states(const RankMemory& memory, const TransferTraffic& traffic);

/// The bytes of K and V of a slot, put back when it dies: a token that is written there for a while leaves no trace,
/// and hides none.
class KeptTokenSlot {
 public:
  KeptTokenSlot(const RankMemory& memory, const RankTokens& tokens, std::int64_t slot);
  KeptTokenSlot(const KeptTokenSlot&) = delete;
  KeptTokenSlot& operator=(const KeptTokenSlot&) = delete;
  ~KeptTokenSlot();

 private:
  const RankMemory& memory_;
  const RankTokens& tokens_;
  std::int64_t slot_;
  std::vector<std::vector<std::byte>> rows_;  // by head, K and V
};

}  // namespace hybridkv
