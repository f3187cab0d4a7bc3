#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// The states of a sequence behind so many tokens.
struct SlotCheckpoint {
  std::int64_t tokens = 0;              ///< >= 1
  std::int64_t request = 0;             ///< that made it
  std::uint64_t chain = 0;              ///< of the run in which these tokens end: which ones they are
  bool used = false;
  bool operator==(const SlotCheckpoint&) const = default;
};

/// In the order in which they were made.
using CheckpointList = std::list<SlotCheckpoint>;

/// What a slot keeps, or the host of one that gave its sequence away: its tokens, and checkpoints of its states.
struct SavedSequence {
  std::vector<TokenRun> content;        ///< empty: nothing
  CheckpointList checkpoints;
  std::int64_t request = -1;            ///< the last one that ran in it
  std::int64_t tokens() const { return content.empty() ? 0 : content.back().end_token; }
};

struct ServerSlot : SavedSequence {
  std::int64_t last_used = -1;          ///< by the requests before it; -1: never
  void clear() { content.clear(), checkpoints.clear(); }
};

/// Tokens from the start that two prompts agree on.
std::int64_t common_tokens(std::span<const TokenRun> a, std::span<const TokenRun> b);

/// The chain of the run in which a length of a sequence ends. Pre: 1 to its length.
std::uint64_t chain_at(std::span<const TokenRun> content, std::int64_t tokens);

}  // namespace hybridkv
