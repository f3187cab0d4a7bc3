#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// Order of one allocation that holds all layers, outermost first: L layers, B blocks, H heads, N tokens of a block (a
/// state counts as one), C the bytes of one head and token, K then V. Source: vLLM 0.33 KVCacheLayout.
enum class CacheOrder {
  lbhnc,  ///< layer by layer, head before token: what HND means
  lbnhc,  ///< layer by layer, token before head: what NHD means
  lhbnc,  ///< a head of a layer together, for all blocks
  blhnc,  ///< all layers of a block together, head before token
  blnhc,  ///< all layers of a block together, token before head
  bhlnc,  ///< all layers of a head of a block together: its bytes are the same under any tensor parallel
};

inline constexpr auto cache_order_names = std::to_array<Named<CacheOrder>>(
    {{CacheOrder::lbhnc, "LBHNC"},
     {CacheOrder::lbnhc, "LBNHC"},
     {CacheOrder::lhbnc, "LHBNC"},
     {CacheOrder::blhnc, "BLHNC"},
     {CacheOrder::blnhc, "BLNHC"},
     {CacheOrder::bhlnc, "BHLNC"}});
inline constexpr auto all_cache_orders = values_of(cache_order_names);

constexpr std::string_view to_string(CacheOrder value) { return name_in(cache_order_names, value); }
constexpr std::optional<CacheOrder> parse_cache_order(std::string_view name) {
  return value_in(cache_order_names, name);
}

/// The bytes of a block of all layers lie together, so that an id is one run of memory.
constexpr bool is_block_outermost(CacheOrder order) {
  return order == CacheOrder::blhnc || order == CacheOrder::blnhc || order == CacheOrder::bhlnc;
}

}  // namespace hybridkv
