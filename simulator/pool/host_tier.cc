#include "simulator/pool/host_tier.h"

#include "base/contract.h"

namespace hybridkv {

std::optional<std::int64_t> HostTier::room_of(std::size_t order) const {
  if (!settings_.memory_bytes || !settings_.state_share) return settings_.memory_bytes;
  const auto of_states =
      static_cast<std::int64_t>(*settings_.state_share * static_cast<double>(*settings_.memory_bytes));
  return order == 1 ? of_states : *settings_.memory_bytes - of_states;
}

void HostTier::store(std::size_t arena, bool is_state, PrefixKey key) {
  const std::size_t order = order_of(is_state);
  Blocks& blocks = blocks_[order];
  if (const auto known = places_.find(key); known != places_.end()) {
    blocks.splice(blocks.end(), blocks, known->second);
    return;
  }
  const std::int64_t bytes = settings_.block_bytes[arena];
  const std::optional<std::int64_t> room = room_of(order);
  if (room && bytes > *room) return;
  while (room && bytes_[order] + bytes > *room) {
    stats_.evicted_bytes += blocks.front().bytes;
    remove(blocks.begin());
  }
  blocks.push_back({key, is_state, bytes});
  places_.emplace(key, std::prev(blocks.end()));
  bytes_[order] += bytes;
  stats_.held_bytes += bytes;
  stats_.held_state_bytes += is_state ? bytes : 0;
  stats_.written_bytes += bytes;
}

void HostTier::remove(Blocks::iterator block) {
  const std::size_t order = order_of(block->is_state);
  bytes_[order] -= block->bytes;
  stats_.held_bytes -= block->bytes;
  stats_.held_state_bytes -= block->is_state ? block->bytes : 0;
  places_.erase(block->key);
  blocks_[order].erase(block);
}

void HostTier::load(PrefixKey key) {
  const auto known = places_.find(key);
  expects(known != places_.end(), "what is loaded is on the host");
  const Blocks::iterator block = known->second;
  stats_.loaded_bytes += block->bytes;
  stats_.load_seconds += static_cast<double>(block->bytes) / settings_.bytes_per_second;
  Blocks& blocks = blocks_[order_of(block->is_state)];
  if (settings_.write == HostWrite::eviction)
    remove(block);
  else
    blocks.splice(blocks.end(), blocks, block);
}

void HostTier::note_load(std::int64_t tokens) {
  ++stats_.loads;
  stats_.loaded_tokens += tokens;
}

}  // namespace hybridkv
