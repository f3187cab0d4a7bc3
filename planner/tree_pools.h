#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/token_state_split.h"
#include "planner/tree_host.h"

namespace hybridkv {

/// What another split would do for requests of one length (advise_ratio).
struct LengthAdvice {
  std::int64_t tokens = 0;            ///< L
  double balanced_ratio = 0;          ///< r*
  double best_ratio = 0;
  std::int64_t best_state_slots = 0;
  std::int64_t best_token_slots = 0;
  std::int64_t running_now = 0;
  std::int64_t running_best = 0;
  double idle_percent = 0;
  bool operator==(const LengthAdvice&) const = default;
};

/// The two pools of an engine with a radix tree: how memory was split, and by what.
struct TreePools {
  TreeStrategy strategy = TreeStrategy::extra_buffer;    ///< as it was chosen; without a tree nobody reads it
  std::int64_t page_tokens = 1;       ///< tokens are taken page by page
  std::int64_t state_slot_bytes = 0;  ///< M, the states of all layers
  std::int64_t token_bytes = 0;       ///< cell: K and V of all layers, those of drafts among them
  std::int64_t checkpoint_tokens = 1; ///< G, grid on which a prompt's states are kept; 1: where a chunk ends
  std::int64_t decode_tokens = 1;     ///< I, the same while decoding
  TokenStateSplit split;
  std::optional<UnifiedPool> unified; ///< the elastic buffer, where the engine makes one
  TreeHost host;                      ///< the tier behind both, where there is one; its rules are read, not run
  std::vector<LengthAdvice> advice;   ///< for the lengths asked about, where some ratio lets one run
  bool operator==(const TreePools&) const = default;

  /// The dummy page of the tokens, which the split leaves out of its budget. Source: SGLang 0.5.23, run.
  std::int64_t unbudgeted_bytes() const { return page_tokens * token_bytes; }
  /// What a rank takes of the host.
  std::int64_t host_bytes() const { return host.tokens * token_bytes + host.states * state_slot_bytes; }
  /// States of draft steps and rings, which lie beside the pools.
  std::int64_t outside_bytes() const { return split.draft_state_bytes + split.ring_bytes; }
};

}  // namespace hybridkv
