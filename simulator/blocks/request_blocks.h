#pragma once

#include <cstdint>
#include <vector>

#include "simulator/pool/block_id.h"

namespace hybridkv {

/// A state a request holds: the one behind the tokens of table position `index`.
struct StateEntry {
  std::int64_t index = 0;
  BlockId block = null_block_id;
  bool operator==(const StateEntry&) const = default;
};

/// Recurrent block table of one request and group, without its null entries.
/// Invariant (find_violations): indices ascend; the last entry is the running state; a running request in mode
/// align holds at most two entries, the second last being the state two crossings back that is about to go; in vLLM
/// 0.33 one more, a state exported inside the last chunk.
struct StateTable {
  std::vector<StateEntry> live;
  std::vector<BlockId> spare;  ///< (s) speculative blocks, next one to become the running state first

  std::int64_t running_index() const { return live.empty() ? -1 : live.back().index; }
  /// The table as an engine keeps it: null blocks where no state is held, speculative blocks at the end.
  std::vector<BlockId> with_nulls() const {
    std::vector<BlockId> table(static_cast<std::size_t>(running_index() + 1), null_block_id);
    for (const StateEntry& entry : live) table[static_cast<std::size_t>(entry.index)] = entry.block;
    table.insert(table.end(), spare.begin(), spare.end());
    return table;
  }
  bool operator==(const StateTable&) const = default;
};

/// A block whose content the engine copies, whole page by whole page, before it computes the step.
struct BlockCopy {
  BlockId from = null_block_id;  ///< shared
  BlockId to = null_block_id;    ///< fresh
  std::int64_t arena = 0;        ///< of both
  BlockId let_go = null_block_id;///< of the two the one that nobody's table holds: its hold ends with the step
  std::int64_t group = 0;        ///< of its kind
  bool operator==(const BlockCopy&) const = default;
};

/// All blocks one request holds, each table's from the arena of its group.
struct RequestBlocks {
  std::vector<std::vector<BlockId>> attention;  ///< (attention group, blocks), null behind a window
  std::vector<StateTable> states;               ///< (state group)
  std::vector<std::vector<BlockId>> held;       ///< (HeldBlocks::groups, blocks); empty before it runs
  std::int64_t published_attention = 0;         ///< leading tokens whose full attention blocks are found or published
  std::int64_t published_states = 0;            ///< leading table positions whose state needs no publishing any more
  std::int64_t partial_tokens = 0;              ///< longest prefix found, or published as a partial attention tail
  /// Attention blocks that end behind so many tokens are copied before they are written again; 0 = none.
  std::int64_t shared_tail_tokens = 0;
  bool state_tail_shared = false;               ///< the running state is copied before it is written again
  std::int64_t exported_tokens = 0;             ///< of the state that the chunk under way exports, 0 = none (vLLM 0.33)
  std::int64_t quiet_tokens = 0;                ///< steps that end before so many computed tokens change none of this
  std::int64_t owner = 0;                       ///< its number among those that take large pages, 0 = none yet
  std::vector<std::int64_t> large_pages;        ///< that it took and that may have room for it (PageLedger)

  std::int64_t turn = 0;                        ///< prefixes known before on its path, and its own (KeptPrefixes)
  std::int64_t prompt_tokens = 0;               ///< of the prompt that it came with, for the same

  void clear() {
    for (auto& table : attention) table.clear();
    for (StateTable& table : states) table.live.clear(), table.spare.clear();
    held.clear();
    published_attention = published_states = partial_tokens = shared_tail_tokens = exported_tokens = quiet_tokens = 0;
    state_tail_shared = false;
    owner = 0;
    large_pages.clear();
    turn = prompt_tokens = 0;
  }
};

}  // namespace hybridkv
