#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/transfer_map.h"
#include "verify/transfer/transfer_continue.h"
#include "verify/transfer/transfer_fault.h"
#include "verify/transfer/transfer_memory.h"
#include "verify/transfer/transfer_rank.h"

namespace hybridkv {

/// What faults are planted into.
struct PlantContext {
  std::span<const TransferRank> from, to;
  std::span<const HeldPages> from_pages, to_pages;  ///< (stage)
  std::int64_t request_tokens = 0;
  std::int64_t present_tokens = 0;
  const Continuation& continuation;

  const HeldPages& from_pages_of(const TransferRank& rank) const {
    return from_pages[static_cast<std::size_t>(rank.number / rank.ranks)];
  }
  const HeldPages& to_pages_of(const TransferRank& rank) const {
    return to_pages[static_cast<std::size_t>(rank.number / rank.ranks)];
  }
};

/// What a planted fault makes of a transfer.
struct PlantedTransfer {
  std::vector<RankCopies> overwrites;  ///< run behind the list: its last word on those bytes, as if the list said so
  std::optional<OlderState> older;
  std::optional<StaleEntry> stale;
  std::int64_t to_rank = -1;           ///< a destination that it changes
  std::string where;                   ///< empty: the fault has no place
  std::string no_place;                ///< why
};

/// Ids that nobody holds and that a fault needs in an arena, beside those for one more token.
std::int64_t free_ids_of_fault(TransferFault fault, const CachePlan& plan, ArenaId arena);

/// Plants a fault into the list, or beside it. Leaves all alone where it has no place.
PlantedTransfer plant_transfer_fault(TransferFault fault, const PlantContext& context, CopyList& list);

}  // namespace hybridkv
