#include "planner/arrangement.h"

#include "base/checked.h"

namespace hybridkv {

std::int64_t Arrangement::page_bytes() const {
  expects(is_uniform(), "pages of one size need one arena");
  return lanes.front().bytes;
}

std::int64_t Arrangement::num_blocks() const {
  expects(is_uniform(), "blocks are the ids of the only arena");
  return arenas.front().num_ids;
}

std::int64_t Arrangement::usable_blocks() const {
  expects(is_uniform(), "blocks are the ids of the only arena");
  return arenas.front().usable_ids();
}

std::int64_t Arrangement::grain_tokens(const SpecPlan& spec) const {
  return spec.state && cache_mode == CacheMode::none ? 0 : spec.block_size_tokens;
}

std::int64_t Arrangement::pool_bytes() const {
  Checked bytes = 0;
  for (const PoolPlan& pool : pools) bytes += pool.bytes;
  return bytes;
}

std::int64_t Arrangement::allocated_bytes() const {
  Checked bytes = 0;
  for (const ArenaPlan& arena : arenas) bytes += Checked(arena.num_ids) * arena.bytes_per_id;
  return bytes;
}

}  // namespace hybridkv
