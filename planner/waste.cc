#include "planner/waste.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"
#include "planner/rank_tokens.h"

namespace hybridkv {

namespace {

/// Bytes of one table entry of one group that hold layers, short packs and padding not counted.
std::int64_t dense_bytes(const Arrangement& arrangement, const GroupPlan& group) {
  const SpecPlan& spec = arrangement.spec_of(group);
  Checked bytes = 0;
  for (const auto& page : group.pages) {
    if (spec.state)
      bytes += arrangement.content_bytes(group) - (group.tensor ? 0 : spec.state->padding_bytes);
    else
      bytes += Checked(static_cast<std::int64_t>(page.size())) * spec.bytes_of_tokens(spec.block_size_tokens);
  }
  return bytes;
}

void add_group(LoadWaste& waste, const Arrangement& arrangement, const BlockWaste& per_block, std::int64_t tokens) {
  const GroupPlan& group = arrangement.groups[per_block.group];
  const SpecPlan& spec = arrangement.spec_of(group);
  const Checked ids = table_entries(table_rule(arrangement, spec), tokens);
  waste.state_padding_bytes += ids * per_block.state_padding_bytes;
  waste.attention_padding_bytes += ids * per_block.attention_padding_bytes;
  waste.short_pack_bytes += ids * per_block.short_pack_bytes;
  waste.empty_position_bytes += ids * per_block.empty_position_bytes;
  if (group.entries_per_id > 1)
    waste.unused_entry_bytes +=
        (Checked(ids_of_entries(group, ids)) * group.entries_per_id - ids) * arrangement.entry_bytes(group);
  const std::int64_t dense = dense_bytes(arrangement, group);
  if (spec.state) {
    waste.state_bytes += dense;
    waste.extra_state_bytes += (ids - 1) * dense;
    return;
  }
  const std::int64_t kept = ceil_div(live_tokens_on_rank(arrangement, spec, tokens), spec.tokens_per_entry);
  const std::int64_t live = Checked(dense / spec.block_entries()) * kept;
  waste.token_bytes += live;
  waste.block_tail_bytes += ids * dense - live;
}

}  // namespace

std::vector<BlockWaste> waste_per_block(const Arrangement& arrangement) {
  std::vector<BlockWaste> groups;
  for (std::size_t index = 0; index < arrangement.groups.size(); ++index) {
    const GroupPlan& group = arrangement.groups[index];
    const SpecPlan& spec = arrangement.spec_of(group);
    const std::int64_t room = arrangement.entry_page_bytes(group);
    BlockWaste waste;
    waste.group = static_cast<std::int64_t>(index);
    waste.empty_position_bytes = Checked(group.padding_positions) * room + group.hole_bytes;
    for (const auto& page : group.pages) {
      const std::int64_t page_padding = room - arrangement.content_bytes(group);
      if (spec.state) {
        waste.state_padding_bytes += page_padding + (group.tensor ? 0 : spec.state->padding_bytes);
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

LoadWaste waste_at_load(const Arrangement& arrangement, std::span<const BlockWaste> per_block,
                        std::span<const std::int64_t> sequence_tokens) {
  LoadWaste waste;
  waste.sequence_tokens.assign(sequence_tokens.begin(), sequence_tokens.end());
  waste.pool_bytes = arrangement.pool_bytes();
  const Demand demand = load_demand(arrangement, sequence_tokens);
  if (!fits(arrangement, demand)) {
    const Demand usable = usable_ids(arrangement);
    const bool one = arrangement.is_uniform();
    throw SpecError(
        "limits.load_tokens",
        fmt::format("{} need{} {}, the pools have {}; take fewer or shorter requests, or more memory",
                    human_plural(std::ssize(sequence_tokens), "request"), sequence_tokens.size() == 1 ? "s" : "",
                    one ? human_plural(demand.total(), "block id") : ids_text(arrangement, demand),
                    one ? human_plural(usable.total(), "usable one") : ids_text(arrangement, usable)));
  }
  // From here on no sum exceeds the bytes of the pools.
  const Checked extra_ids = arrangement.extra_ids_per_request();
  const std::int64_t beside = arrangement.extra_bytes_per_id();
  const auto piece_bytes = [&](std::size_t arena) {
    return arrangement.arenas[arena].bytes_per_id - (arena == 0 ? beside : 0);
  };
  for (std::int64_t tokens : sequence_tokens) {
    for (const BlockWaste& of_group : per_block) add_group(waste, arrangement, of_group, tokens);
    waste.extra_state_bytes += extra_ids * piece_bytes(0);
  }
  for (std::size_t arena = 0; arena < arrangement.arenas.size(); ++arena) {
    const ArenaPlan& of = arrangement.arenas[arena];
    waste.null_block_bytes += of.num_ids > 0 && of.has_null_id ? piece_bytes(arena) : 0;
    waste.free_bytes += (arrangement.arenas[arena].usable_ids() - demand.ids[arena]) * piece_bytes(arena);
  }
  return waste;
}

}  // namespace hybridkv
