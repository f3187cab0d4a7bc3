#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/engine_rules.h"
#include "simulator/blocks/block_rules.h"

namespace hybridkv {

/// The rules of a release and what it needs to know of a model beyond CacheGeometry. The default is June 2026, which
/// reads none of the other fields. Source: vLLM 0.33 KVCacheManager, SingleTypeKVCacheManager and Scheduler.
///
/// Example: Qwen3.5-397B with MTP on an H100: `{.blocks = &match_unit_rules, .lookahead_tokens = 1,
/// .checkpoint_blocks = 1, .exports_gdn = true}`, and in the geometry R = 0 and s = 1.
struct PrefixRules {
  const EngineRules* engine = default_rules();  ///< for its name
  const BlockRules* blocks = &plain_block_rules;       ///< how it finds and keeps prefixes
  /// l: tokens behind a prefix that its key covers too, so that a drafter needs no block dropped; 0 without a drafter,
  /// with DFlash or DSpark, and where the drafter drops a block (CacheGeometry::drafter_drops_block).
  std::int64_t lookahead_tokens = 0;
  /// c: blocks of each recurrent group for a state exported inside a chunk, 0 or 1; 0 where one group cannot export.
  std::int64_t checkpoint_blocks = 0;
  /// Tokens from the start of a chunk to an exported state are a multiple of it, >= 1: 1 for mamba2, 16 for kda.
  std::int64_t checkpoint_alignment = 1;
  /// States of gdn are exported: they lie at multiples of the block besides, or of lcm(h, 64) with a match unit of the
  /// user's (CacheGeometry::checkpoint_alignment).
  bool exports_gdn = false;
  /// Opted in to states at the very token of a junction (fine hits of a drafter that drops).
  bool exact_junctions = false;
  /// (attention group) Is it a drafter group? Empty: all are.
  std::vector<bool> attention_drafters;
  /// Are the recurrent groups drafter groups? They are where no layer is marked as a drafter's.
  bool state_drafters = false;
  /// Ranks that share the tokens of attention; the blocks of states count as many times as long beside match units.
  std::int64_t context_ranks = 1;

  bool drafts(std::size_t attention_group) const {
    return attention_drafters.empty() || attention_drafters[attention_group];
  }
  bool operator==(const PrefixRules&) const = default;
};

}  // namespace hybridkv
