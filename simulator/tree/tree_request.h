#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/trace/trace.h"
#include "simulator/tree/radix_tree.h"
#include "simulator/tree/tree_record.h"

namespace hybridkv {

/// A request of a dual pool with a radix tree, and what it holds there.
struct TreeRequest {
  std::span<const TokenRun> content;  ///< its prompt, and the tokens it generates where it does
  std::vector<TokenRun> own_content;  ///< of those that generate, or wait
  std::int64_t prompt_tokens = 0;     ///< n: to be prefilled, after a retraction with what it had generated
  std::int64_t output_tokens = 1;     ///< to generate from there on, >= 1
  std::int64_t computed_tokens = 0;   ///< that have KV, found or its own
  TreeNodeId node = tree_root;        ///< locked
  bool locks_state = false;           ///< that node's too
  std::int64_t protected_tokens = 0;  ///< that the locked path holds; from there on pages are its own
  std::int64_t own_pages = 0;
  PageRows rows;                      ///< of its own pages, where pages have numbers
  StateSlot active = 0;               ///< its running state
  std::vector<StateSlot> tracking;    ///< the states to be kept go here first, in turn; the last one was written last
  std::int64_t tracked_tokens = 0;    ///< what the tree is to know next: to the state last taken, 0 = nothing new
  std::int64_t branch_tokens = 0;     ///< where KV alone matched, see TreeRecord; 0 = none
  std::int64_t chunk_end = 0;         ///< of the chunk under way
  TreeRecord record;

  bool prefilling() const { return computed_tokens < prompt_tokens; }
  /// Tokens when it ends: the last one that it generates is not computed.
  std::int64_t last_computed() const { return prompt_tokens + output_tokens - 1; }
};

/// Of so many tokens that a request may still generate, those that admission reckons with.
std::int64_t reckoned_output(std::int64_t tokens);

/// What a model computes for a request at once, once its pages and slots are taken: a chunk of the prompt, or a stretch
/// of the decode.
struct TreeForward {
  std::int64_t start = 0, end = 0;  ///< tokens; the state of `start` is in the active slot, that of `end` goes there
  std::int64_t kept_tokens = 0;     ///< where on the way a state is taken, start < .. <= end; 0 = nowhere
  StateSlot kept_slot = 0;          ///< the tracking slot that it is taken to
};

}  // namespace hybridkv
