#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/kv_codec.h"
#include "verify/check_result.h"
#include "verify/fault/fault.h"
#include "verify/layout/block_assignment.h"
#include "verify/layout/bound_view.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

/// What verification writes into the pools: values that are a pure function of (seed, layer, place), so that every
/// element can be checked later without a copy.
struct Traffic {
  const CachePlan& plan;
  std::span<const BoundView> views;
  const PoolSet& pools;
  const BlockAssignment& assignment;
  std::span<const BatchRequest> requests;
  std::uint64_t seed = 1;
  std::optional<Fault> fault;  ///< planted into what is written, copied or attended here; those of views are in `views`
};

/// What of a request its blocks in the group of this view hold, in tokens.
struct HeldTokens {
  std::int64_t first = 0;  ///< a multiple of the block; under a window or chunk what lies before, and no query token
                           ///< of the batch sees, has gone back to the pool
  std::int64_t end = 0;    ///< all tokens of the request, of cross attention those of its encoder
  std::int64_t query = 0;  ///< its query tokens, fewer than asked for where the group's blocks have no room
};
/// Block i of the request in this group holds tokens `first + i * B` and so on. Pre: a view of an attention layer.
/// Throws InputError where the blocks do not even hold what one query token sees.
HeldTokens held_tokens(const Traffic& traffic, const BoundView& view, std::size_t request);

/// How K or V of a layer becomes what its cache holds, see `cache_codec`; scales of the tensor differ between layers
/// and between K and V, as engines calibrate them.
KvCodec kv_codec(const Traffic& traffic, std::size_t view, bool is_value);

/// K (is_value false) or V of one cached token as the cache holds it: values in [-1, 1), encoded. In a format without
/// a codec any bytes. `slot` = block id * block size + offset; `row`: all stored bytes of the head.
void kv_row(const Traffic& traffic, std::size_t view, bool is_value, std::int64_t slot, std::int64_t head,
            std::span<std::byte> row);

/// Writes every state tensor of every block that a request holds, through its view. Bits, not numbers: all patterns
/// occur. Another `generation` writes other bits.
void write_states(const Traffic& traffic, std::uint64_t generation);

/// Compares every state with what write_states of that generation wrote, bit for bit.
/// `count` = state elements.
CheckResult check_states(const Traffic& traffic, std::uint64_t generation);

/// Writes K and V of every token that a request holds, in every attention layer, through its view.
void write_kv(const Traffic& traffic);

/// Compares every K and V with what write_kv wrote, bit for bit, and every unused slot with its canary.
/// `count` = K and V elements.
CheckResult check_kv(const Traffic& traffic);

}  // namespace hybridkv
