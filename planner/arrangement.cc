#include "planner/arrangement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

std::string stored_as(const AttentionGeometry& attention) {
  if (attention.format) return std::string(to_string(*attention.format));
  if (!attention.cells) return std::string(to_string(attention.dtype));
  const std::string key(to_string(attention.cells->key)), value(to_string(attention.cells->value));
  return key == value ? key : key + " and " + value;
}

SpecRole SpecPlan::role() const {
  if (draft) return SpecRole::draft;
  if (auxiliary) return SpecRole::auxiliary;
  if (state) return SpecRole::state;
  if (is_cross()) return SpecRole::encoder;
  return attention->window_tokens > 0 ? SpecRole::window : SpecRole::attention;
}

std::int64_t SpecPlan::live_tokens(std::int64_t tokens) const {
  if (is_cross()) return encoder_tokens;
  return attention->window_tokens > 0 ? std::min(attention->window_tokens, tokens) : tokens;
}

std::string spec_label(const SpecPlan& spec) { return fmt::format("spec {} ({})", spec.id, spec.kind); }

std::int64_t Arrangement::entry_page_bytes(const GroupPlan& group) const {
  return Checked(page_bytes(group)) * group.ids_per_entry;
}

std::int64_t Arrangement::entry_bytes(const GroupPlan& group) const {
  return Checked(static_cast<std::int64_t>(group.pages.size()) + group.padding_positions) * entry_page_bytes(group) +
         group.hole_bytes;
}

bool Arrangement::is_uniform() const {
  if (arenas.size() != 1) return false;
  if (!cache_order)
    return lanes.size() == pools.size() &&
           std::none_of(groups.begin(), groups.end(), [](const GroupPlan& group) { return group.in_lane.has_value(); });
  return std::all_of(groups.begin(), groups.end(), [&](const GroupPlan& group) {
    return !group.shares_table && page_bytes(group) == page_bytes(groups.front());
  });
}

std::int64_t Arrangement::page_bytes() const {
  expects(is_uniform(), "pages of one size need one arena");
  return page_bytes(groups.front());
}

std::int64_t Arrangement::num_blocks() const {
  expects(arenas.size() == 1, "blocks are the ids of the only arena");
  return arenas.front().num_ids;
}

std::int64_t Arrangement::usable_blocks() const {
  expects(arenas.size() == 1, "blocks are the ids of the only arena");
  return arenas.front().usable_ids();
}

std::int64_t Arrangement::grain_tokens(const SpecPlan& spec) const {
  return spec.is_cross() || (spec.state && cache_mode == CacheMode::none) ? 0 : spec.block_size_tokens;
}

std::int64_t Arrangement::draft_states() const {
  const auto replays = [](const SpecPlan& spec) { return spec.state && has_replay_ring(*spec.state); };
  return std::any_of(specs.begin(), specs.end(), replays) ? 0 : speculative_tokens;
}

std::int64_t Arrangement::extra_ids_per_request() const {
  Checked ids = 0;
  for (const ExtraPlan& extra : extras) ids += extra.blocks_per_request;
  return ids;
}

std::int64_t Arrangement::extra_bytes_per_id() const {
  Checked bytes = 0;
  for (const ExtraPlan& extra : extras) bytes += extra.bytes_per_block;
  return bytes;
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
