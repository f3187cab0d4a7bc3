#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/key_mask.h"
#include "planner/arrangement.h"

namespace hybridkv {

/// Tokens of steps that have begun and not ended. A layer with a window gives none of them back, as their queries still
/// look at the window before them.
struct TokensInFlight {
  std::int64_t batch = 0;         ///< tokens of one step
  std::int64_t batches = 1;       ///< steps that may have begun
  std::int64_t looked_ahead = 0;  ///< tokens behind a prefix that a drafter reads too; the first is in the step anyway
  std::string_view batch_symbol = "batch";  ///< how formulas call the tokens of one step
  std::int64_t total() const;
  bool operator==(const TokensInFlight&) const = default;
};

/// What the table of one group of layers takes of a request: entries that it has whatever the length, by what they are
/// for, and entries that come with the tokens. Ids, bytes, causes, the longest request and the formula that `explain`
/// prints all follow from it, each by one function.
struct TableRule {
  std::int64_t states = 0;             ///< the running state, and checkpoints that a running request always keeps
  std::string_view states_symbol = ""; ///< how formulas call their number where another rule gives it; empty: by value
  std::optional<std::int64_t> drafts;  ///< s: states after draft tokens; unset where this table has none for any draft
  std::string_view drafts_symbol = "s";  ///< how formulas call their number
  std::int64_t exported = 0;           ///< c: states that a chunk exports inside of it
  std::int64_t rings = 0;              ///< rings and tails

  std::int64_t block_tokens = 0;       ///< tokens of each entry that comes with the tokens; 0: none does
  std::int64_t encoder_tokens = 0;     ///< > 0: those are the tokens of the encoder, whatever the request's length
  std::int64_t ranks = 1;              ///< that share the tokens, each with a table of its own part
  bool grows_in_states = false;        ///< what comes with the tokens are checkpoints of states
  bool only_whole_blocks = false;      ///< tokens that fill no block have no entry: what runs has one of its own
  KeyMask mask;                        ///< of which tokens entries are kept: all, or those in a window or chunk
  TokensInFlight in_flight;            ///< kept beside those of a window or chunk
  std::string_view why = "";           ///< what the entries are, for formulas
  bool operator==(const TableRule&) const = default;

  bool is_windowed() const { return mask.kind != MaskKind::full; }
};

/// Attention: ceil(L / B), with d ranks ceil(ceil(L / d) / B). A window keeps the tokens that a request looks back on
/// and those in flight, and one block more, since it begins anywhere in a block: ceil(min(W - 1 + F, L) / B) + 1; a
/// chunk, which begins with a block, ceil(min(W + F, L) / B). Source: vLLM FullAttentionSpec, SlidingWindowSpec,
/// ChunkedLocalAttentionSpec.
TableRule table_of_tokens(const KeyMask& mask, std::int64_t block_tokens, std::int64_t ranks, TokensInFlight in_flight);

/// States: 1 + s in mode none, 2 + s + c in mode align, ceil(L / B) + s in mode all. Source: vLLM MambaSpec.
TableRule table_of_states(CacheMode mode, std::int64_t block_tokens, std::int64_t drafts, std::int64_t exported);

/// The running state, a checkpoint at every multiple of the block, and states of drafts: 1 + floor(L / B) + s.
/// Source: Jenga, read.
TableRule table_of_checkpoints(std::int64_t block_tokens, std::int64_t drafts);

/// K and V of an encoder's E tokens, from a request's start to its end: ceil(E / B).
/// Source: vLLM CrossAttentionSpec, CrossAttentionManager.
TableRule table_of_encoder(std::int64_t encoder_tokens, std::int64_t block_tokens);

/// One entry whatever the length: a ring, a tail.
TableRule table_of_ring();

/// The table of each group of this spec.
TableRule table_rule(const Arrangement& arrangement, const SpecPlan& spec);

/// Entries of a request of `tokens` tokens.
std::int64_t table_entries(const TableRule& rule, std::int64_t tokens);

/// The inverse of table_entries: tokens of the longest request that takes at most so many entries. 0 where even one
/// token takes more, and at most largest_tokens.
std::int64_t longest_in_entries(const TableRule& rule, std::int64_t entries);

}  // namespace hybridkv
