#include "planner/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layout/checked.h"

namespace hybridkv {

namespace {

std::int64_t ideal_request_bytes(const CachePlan& plan, std::int64_t tokens) {
  Checked bytes = 0;
  for (const SpecPlan& spec : plan.specs) {
    const auto layers = static_cast<std::int64_t>(spec.layers.size());
    if (spec.state) {
      bytes += Checked(layers) * spec.state->bytes;
    } else {
      const bool windowed = spec.attention->window_tokens > 0;
      const std::int64_t live = windowed ? std::min(spec.attention->window_tokens, tokens) : tokens;
      bytes += Checked(layers) * live * spec.bytes_per_token;
    }
  }
  return bytes;
}

/// num_blocks // groups * smallest block: what engines up to 0.20 print.
std::int64_t tokens_by_floor(const CachePlan& plan, std::int64_t max_model_len) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const SpecPlan& spec : plan.specs) {
    const bool whole_sequence = spec.state && plan.cache_mode == CacheMode::none;
    smallest = std::min(smallest, whole_sequence ? max_model_len : spec.block_size_tokens);
  }
  return Checked(plan.num_blocks / static_cast<std::int64_t>(plan.groups.size())) * smallest;
}

/// int(num_blocks / ids * length), in the double arithmetic of the engines so that their print is met exactly.
std::int64_t tokens_by_concurrency(double max_concurrency, std::int64_t max_model_len) {
  const double tokens = max_concurrency * static_cast<double>(max_model_len);
  if (tokens >= 0x1p63)
    throw InputError(fmt::format("number too large for 64 bits: {} KV cache tokens (concurrency {} at {} tokens)", tokens,
                                 max_concurrency, max_model_len));
  return static_cast<std::int64_t>(tokens);
}

}  // namespace

std::int64_t blocks_in_memory(std::int64_t memory_bytes, std::int64_t page_bytes, std::int64_t num_pools,
                              std::int64_t extra_bytes_per_block) {
  if (extra_bytes_per_block == 0) return memory_bytes / page_bytes / num_pools;
  return memory_bytes / (Checked(num_pools) * page_bytes + extra_bytes_per_block);
}

std::int64_t bytes_per_block_id(const CachePlan& plan) {
  Checked bytes = Checked(static_cast<std::int64_t>(plan.pools.size())) * plan.page_bytes;
  for (const ExtraPlan& extra : plan.extras) bytes += extra.bytes_per_block;
  return bytes;
}

CapacityPlan capacity_at(const CachePlan& plan, std::int64_t max_model_len, TokenRule rule) {
  CapacityPlan capacity;
  capacity.max_model_len = max_model_len;
  capacity.blocks_per_request = request_block_ids(plan, max_model_len);
  capacity.bytes_per_request = Checked(capacity.blocks_per_request) * bytes_per_block_id(plan);
  capacity.ideal_bytes_per_request = ideal_request_bytes(plan, max_model_len);
  capacity.fits = plan.num_blocks >= capacity.blocks_per_request;
  const auto ids = static_cast<double>(capacity.blocks_per_request);
  capacity.max_concurrency = static_cast<double>(plan.num_blocks) / ids;
  capacity.usable_concurrency = static_cast<double>(plan.usable_blocks) / ids;
  capacity.kv_cache_tokens_by_concurrency = tokens_by_concurrency(capacity.max_concurrency, max_model_len);
  capacity.kv_cache_tokens_by_floor = tokens_by_floor(plan, max_model_len);
  capacity.kv_cache_tokens =
      rule == TokenRule::floor ? capacity.kv_cache_tokens_by_floor : capacity.kv_cache_tokens_by_concurrency;
  return capacity;
}

double over_ideal_percent(const CapacityPlan& capacity) {
  if (capacity.ideal_bytes_per_request == 0) return 0;
  const auto ideal = static_cast<double>(capacity.ideal_bytes_per_request);
  return 100.0 * (static_cast<double>(capacity.bytes_per_request) - ideal) / ideal;
}

std::int64_t longest_request(const CachePlan& plan, std::int64_t blocks) {
  std::int64_t fits = 0;
  std::int64_t too_long = largest_tokens + 1;
  while (too_long - fits > 1) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    (request_block_ids(plan, middle) <= blocks ? fits : too_long) = middle;
  }
  return fits;
}

}  // namespace hybridkv
