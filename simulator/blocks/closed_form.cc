#include "simulator/blocks/closed_form.h"

#include <algorithm>

#include "base/bisect.h"
#include "base/checked.h"
#include "simulator/blocks/block_rules.h"

namespace hybridkv {

std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt_tokens) {
  if (geometry.state_groups == 0 || !geometry.caches_prefixes()) return {};
  return geometry.rules.blocks->checkpoint_positions(geometry, prompt_tokens);
}

std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt_tokens,
                                               std::int64_t copy) {
  return geometry.rules.blocks->predicted_copy_hit(geometry, prompt_tokens, copy);
}

std::int64_t request_block_ids(const CacheGeometry& geometry, std::int64_t tokens, std::int64_t arena) {
  Checked ids = arena == 0 ? geometry.extra_blocks_per_request : 0;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (geometry.attention_arena(group) == arena) ids += table_entries(geometry.attention_table(group), tokens);
  for (const HeldGroup& group : geometry.held_groups)
    if (group.arena == arena) ids += group.blocks(tokens);
  const std::int64_t states = table_entries(geometry.state_table(), tokens);
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    if (geometry.state_arena(group) == arena) ids += states;
  return ids;
}

std::int64_t longest_request(const CacheGeometry& geometry, std::int64_t arena) {
  const std::int64_t usable = geometry.arena_blocks(arena) - 1;
  const std::int64_t longest = std::int64_t{1} << 40;
  const auto holds = [&](std::int64_t tokens) {
    return request_block_ids(geometry, geometry.rules.blocks->room_tokens(geometry, tokens), arena) <= usable;
  };
  return last_that(0, longest + 1, holds);
}

namespace {

/// Of large pages that all arenas share.
std::int64_t longest_in_large_pages(const CacheGeometry& geometry) {
  const std::int64_t longest = std::int64_t{1} << 40;
  const auto holds = [&](std::int64_t tokens) {
    Checked pages = 1;
    for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
      pages += ceil_div(request_block_ids(geometry, tokens, arena),
                        geometry.blocks_per_large_page[static_cast<std::size_t>(arena)]);
    return pages <= geometry.num_large_pages();
  };
  return last_that(0, longest + 1, holds);
}

}  // namespace

std::int64_t longest_request(const CacheGeometry& geometry) {
  if (geometry.shares_large_pages()) return longest_in_large_pages(geometry);
  std::int64_t longest = longest_request(geometry, 0);
  for (std::int64_t arena = 1; arena < geometry.num_arenas(); ++arena)
    longest = std::min(longest, longest_request(geometry, arena));
  return longest;
}

}  // namespace hybridkv
