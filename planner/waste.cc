#include "planner/waste.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/checked.h"

namespace hybridkv {

namespace {

/// Bytes of one block id of one group that hold layers, short packs and padding not counted.
std::int64_t dense_bytes(const SpecPlan& spec, const GroupPlan& group) {
  Checked bytes = 0;
  for (const auto& page : group.pages) {
    if (spec.state)
      bytes += spec.state->bytes - spec.state->padding_bytes;
    else
      bytes += Checked(static_cast<std::int64_t>(page.size())) * spec.block_size_tokens * spec.bytes_per_token;
  }
  return bytes;
}

/// Tokens of a request whose K and V are still of use to a layer.
std::int64_t live_tokens(const SpecPlan& spec, std::int64_t tokens) {
  return spec.attention->window_tokens > 0 ? std::min(spec.attention->window_tokens, tokens) : tokens;
}

void add_group(LoadWaste& waste, const CachePlan& plan, std::size_t group_index, std::int64_t tokens) {
  const GroupPlan& group = plan.groups[group_index];
  const SpecPlan& spec = plan.specs[group.spec];
  const BlockWaste& per_block = plan.waste.per_block[group_index];
  const Checked ids = group_block_ids(plan, spec, tokens);
  waste.state_padding_bytes += ids * per_block.state_padding_bytes;
  waste.attention_padding_bytes += ids * per_block.attention_padding_bytes;
  waste.short_pack_bytes += ids * per_block.short_pack_bytes;
  waste.empty_slot_bytes += ids * per_block.empty_slot_bytes;
  const std::int64_t dense = dense_bytes(spec, group);
  if (spec.state) {
    waste.state_bytes += dense;
    waste.extra_state_bytes += (ids - 1) * dense;
    return;
  }
  const std::int64_t live = Checked(dense / spec.block_size_tokens) * live_tokens(spec, tokens);
  waste.token_bytes += live;
  waste.block_tail_bytes += ids * dense - live;
}

}  // namespace

std::vector<BlockWaste> waste_per_block(const CachePlan& plan) {
  std::vector<BlockWaste> groups;
  for (std::size_t index = 0; index < plan.groups.size(); ++index) {
    const GroupPlan& group = plan.groups[index];
    const SpecPlan& spec = plan.specs[group.spec];
    BlockWaste waste;
    waste.group = static_cast<std::int64_t>(index);
    waste.empty_slot_bytes = Checked(group.padding_slots) * plan.page_bytes;
    for (const auto& page : group.pages) {
      const std::int64_t page_padding = plan.page_bytes - spec.unpadded_page_bytes;
      if (spec.state) {
        waste.state_padding_bytes += page_padding + spec.state->padding_bytes;
      } else {
        const std::int64_t missing = spec.layers_per_page - static_cast<std::int64_t>(page.size());
        waste.attention_padding_bytes += page_padding;
        waste.short_pack_bytes += Checked(missing) * spec.block_size_tokens * spec.bytes_per_token;
      }
    }
    groups.push_back(waste);
  }
  return groups;
}

LoadWaste waste_at_load(const CachePlan& plan, std::span<const std::int64_t> sequence_tokens) {
  LoadWaste waste;
  waste.sequence_tokens.assign(sequence_tokens.begin(), sequence_tokens.end());
  const Checked block_bytes = Checked(static_cast<std::int64_t>(plan.pools.size())) * plan.page_bytes;
  waste.pool_bytes = block_bytes * plan.num_blocks;
  waste.null_block_bytes = block_bytes;
  Checked ids = 0;
  for (std::int64_t tokens : sequence_tokens) ids += request_block_ids(plan, tokens);
  if (ids > plan.usable_blocks)
    throw SpecError("limits.load_tokens",
                    fmt::format("{} requests need {} block ids, the pools have {} usable ones; take fewer or shorter "
                                "requests, or more memory",
                                sequence_tokens.size(), std::int64_t(ids), plan.usable_blocks));
  // From here on no sum exceeds the bytes of the pools.
  Checked extra_ids = 0;
  for (const ExtraPlan& extra : plan.extras) extra_ids += extra.blocks_per_request;
  for (std::int64_t tokens : sequence_tokens) {
    for (std::size_t group = 0; group < plan.groups.size(); ++group) add_group(waste, plan, group, tokens);
    waste.extra_state_bytes += extra_ids * block_bytes;
  }
  waste.free_bytes = block_bytes * (plan.usable_blocks - ids);
  return waste;
}

}  // namespace hybridkv
