#pragma once

#include <algorithm>

#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"

namespace hybridkv::testing {

/// A tiny cache with every rule of 0.33 switched on now and then.
inline CacheGeometry random_geometry_033(Dice& dice) {
  CacheGeometry g = geometry_033(dice.roll(1, 6), dice.roll(6, 60), dice.roll(0, 3));
  g.attention_groups = dice.roll(g.state_groups == 0 ? 1 : 0, 2);
  if (dice.chance(10)) g.mode = CacheMode::none;
  if (g.attention_groups > 0 && dice.chance(25)) {
    g.attention_masks.resize(static_cast<std::size_t>(g.attention_groups));
    g.attention_masks.back() = {MaskKind::sliding_window, dice.roll(1, 12)};
  }
  const std::int64_t retention = dice.roll(0, 3);
  if (retention == 1) g.retention_interval_tokens.reset();
  if (retention == 2) g.retention_interval_tokens = dice.roll(1, 4) * g.block_size_tokens;
  for (std::int64_t unit = 1; unit < g.block_size_tokens; ++unit)
    if (g.block_size_tokens % unit == 0 && dice.chance(40)) g.match_unit_tokens = unit;
  if (dice.chance(50)) {
    g.rules.checkpoint_blocks = 1;
    g.rules.checkpoint_alignment = dice.chance(70) ? 1 : dice.roll(1, 4);
  }
  // Drafters propose fewer tokens than a block has.
  const std::int64_t drafter = g.block_size_tokens > 1 ? dice.roll(0, 4) : 0;
  if (drafter > 0) g.speculative_tokens = dice.roll(1, std::min<std::int64_t>(3, g.block_size_tokens - 1));
  if (drafter == 1 || drafter == 2) g.rules.lookahead_tokens = 1;
  if (drafter == 3) g.drafter_drops_block = true;
  if (drafter == 3 && dice.chance(50)) g.rules.exact_junctions = true;
  g.max_num_batched_tokens = dice.roll(2, 40);
  g.scheduler.max_num_seqs = dice.roll(1, 6);
  if (dice.chance(25)) g.scheduler.long_prefill_threshold = dice.roll(1, 12);
  return g;
}

}  // namespace hybridkv::testing
