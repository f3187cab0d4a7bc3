#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/named_values.h"
#include "simulator/pool/block_id.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// When a block is copied to the host.
enum class HostWrite : std::uint8_t {
  eviction,       ///< when it goes from the pool; what is loaded back leaves the host
  write_through,  ///< when it can be found first; what is loaded back stays
};
inline constexpr auto host_write_names = std::to_array<Named<HostWrite>>(
    {{HostWrite::eviction, "eviction"}, {HostWrite::write_through, "write_through"}});
constexpr std::string_view to_string(HostWrite value) { return name_in(host_write_names, value); }
constexpr std::optional<HostWrite> parse_host_write(std::string_view name) { return value_in(host_write_names, name); }

/// Memory of the host behind the pools of a cache. Example: 512 GiB, free between K and V and states, 50 GB/s.
struct HostSettings {
  std::optional<std::int64_t> memory_bytes;  ///< unset: no limit
  std::optional<double> state_share;         ///< of the memory, for states alone; unset: whatever was used last stays
  HostWrite write = HostWrite::eviction;
  double bytes_per_second = 50e9;            ///< of loads, > 0
  std::vector<std::int64_t> block_bytes;     ///< (arena) bytes of a block of its pool, each >= 1
  bool operator==(const HostSettings&) const = default;
};

/// What the host was good for. Tokens are of prompts, bytes those of blocks.
struct HostStats {
  std::int64_t loaded_tokens = 0;     ///< found because the host had what the pools lacked
  std::int64_t loads = 0;             ///< look-ups that loaded
  std::int64_t loads_without_room = 0;///< that found more on the host than the pools had room for
  std::int64_t loaded_bytes = 0;
  std::int64_t written_bytes = 0;
  std::int64_t evicted_bytes = 0;     ///< that the host had no room for any more
  std::int64_t held_bytes = 0;        ///< at the end
  std::int64_t held_state_bytes = 0;  ///< of those, states
  std::int64_t dead_bytes = 0;        ///< of those, K and V that no state of pools or host can resume behind
  double load_seconds = 0;            ///< at the stated rate; the steps of a clock wait for it
  bool operator==(const HostStats&) const = default;
};

/// Blocks that went from the pools of a cache, or were copied when they came, by the key of their prefix and group: the
/// one that was not used for longest goes first, of K and V and states together or of each in its share. A block larger
/// than its share is not kept. Operations are O(1).
class HostTier {
 public:
  explicit HostTier(const HostSettings& settings) : settings_(settings) {}

  const HostSettings& settings() const { return settings_; }
  const HostStats& stats() const { return stats_; }
  bool has(PrefixKey key) const { return places_.contains(key); }
  /// A pool told a block's key: it can be found there from now on, or goes for new use.
  void note_published(std::size_t arena, bool is_state, PrefixKey key) {
    if (settings_.write == HostWrite::write_through) store(arena, is_state, key);
  }
  void note_evicted(std::size_t arena, bool is_state, PrefixKey key) {
    if (settings_.write == HostWrite::eviction) store(arena, is_state, key);
  }
  /// The block goes back to a pool. Pre: has(key).
  void load(PrefixKey key);
  void note_load(std::int64_t tokens);
  void note_no_room() { ++stats_.loads_without_room; }

  /// Calls visit(key, is_state, bytes) for every block.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& blocks : blocks_)
      for (const Block& block : blocks) visit(block.key, block.is_state, block.bytes);
  }
  void set_dead_bytes(std::int64_t bytes) { stats_.dead_bytes = bytes; }

 private:
  struct Block {
    PrefixKey key = 0;
    bool is_state = false;
    std::int64_t bytes = 0;
  };
  using Blocks = std::list<Block>;

  void store(std::size_t arena, bool is_state, PrefixKey key);
  void remove(Blocks::iterator block);
  // Blocks share one order, or have one each for K and V and for states.
  std::size_t order_of(bool is_state) const { return settings_.state_share && is_state ? 1 : 0; }
  std::optional<std::int64_t> room_of(std::size_t order) const;

  HostSettings settings_;
  HostStats stats_;
  std::array<Blocks, 2> blocks_;  // (order), the one used last at the end
  std::array<std::int64_t, 2> bytes_{};
  std::unordered_map<PrefixKey, Blocks::iterator> places_;
};

}  // namespace hybridkv
