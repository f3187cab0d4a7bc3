#include "verify/transfer/transfer_memory.h"

#include <algorithm>

namespace hybridkv {

const RankMemory& TransferMemory::get(std::int64_t rank) {
  const auto known = find(rank);
  if (known != memory_.end()) {
    memory_.splice(memory_.end(), memory_, known);
    return memory_.back();
  }
  const TransferRank& of = ranks_[static_cast<std::size_t>(rank)];
  RankMemory& made = make(of, pages_[static_cast<std::size_t>(rank / of.ranks)]);
  write_tokens(made, traffic_, 0, largest_tokens);
  write_states(made, traffic_);
  if (older_ && older_->rank == rank) write_older_state(made, traffic_, *of.find_state(older_->tensor), older_->ids);
  return made;
}

void TransferMemory::release(std::int64_t rank) {
  const auto known = find(rank);
  if (known == memory_.end()) return;
  unused_.clear();
  unused_.splice(unused_.end(), memory_, known);
}

std::int64_t TransferMemory::resident_bytes() const {
  std::int64_t bytes = 0;
  for (const auto* list : {&memory_, &unused_})
    for (const RankMemory& memory : *list) bytes += memory.pools.resident_bytes();
  return bytes;
}

std::list<RankMemory>::iterator TransferMemory::find(std::int64_t rank) {
  return std::find_if(memory_.begin(), memory_.end(), [&](const RankMemory& of) { return of.rank->number == rank; });
}

RankMemory& TransferMemory::make(const TransferRank& rank, const HeldPages& pages) {
  if (!unused_.empty() && &unused_.front().pages == &pages) {
    memory_.splice(memory_.end(), unused_);
    memory_.back().rank = &rank;
    return memory_.back();
  }
  unused_.clear();
  while (!memory_.empty() && bytes() + pages.bytes() > budget_bytes_) memory_.pop_front();
  return memory_.emplace_back(rank, pages, CanarySide::from);
}

std::int64_t TransferMemory::bytes() const {
  std::int64_t bytes = 0;
  for (const RankMemory& memory : memory_) bytes += memory.pages.bytes();
  return bytes;
}

}  // namespace hybridkv
