#pragma once

namespace hybridkv {

/// What a decision of a plan follows: the rules for which an engine says where they come from (EngineRules::source).
enum class RuleOf {
  arithmetic,           ///< what follows from other numbers of the plan, whoever runs it
  attention_bytes,      ///< what a layer of attention keeps of a token on one rank
  blocks,               ///< blocks, kernel blocks and the padding of pages
  block_size,           ///< B, C and P, which follow from the largest state and from packs
  grown_blocks,         ///< longer blocks of attention whose page divides the largest
  packs,                ///< N layers a page, and the views of them
  groups,               ///< how layers fall into groups, and how many ids there are
  tables,               ///< the same of one allocation, and blocks of an indexer
  allocation,           ///< one allocation of W bytes a block
  cache_order,          ///< the order of the one allocation
  state_shape,          ///< axes and bytes of the tensors of a state
  state_places,         ///< where they lie in its page
  exported_states,      ///< blocks for states that a scan exports inside a chunk
  ring,                 ///< a ring of tokens as one block
  ring_tokens,          ///< how many tokens it has
  lookahead,            ///< keys that cover tokens ahead for a drafter
  capacity,             ///< ids of a request, and requests at once
  prefixes,             ///< where a prefix is found again
  dual_pool,            ///< memory split between slots of states and pages of tokens
  own_pools,            ///< pools of a kind of id of its own
  split_source_only,    ///< those parts of a split that no run confirms
  compact_slots,        ///< slots of the states of all layers
  two_level,            ///< large pages that small ones share
  small_pages,          ///< pages without an engine that has them
  pool_groups,          ///< memory in grains by weight
  periodic_checkpoints, ///< memory of states kept every so many tokens
  rows,                 ///< rows of states by sequence
  cells,                ///< cells of one token
  host_checkpoints,     ///< states that are copied to the host
  padded_heads,         ///< heads that are added until ranks share them
  counted_heads,        ///< heads that are counted as if ranks shared them
  shared_bias,          ///< the biases of a batch over shared blocks
};

}  // namespace hybridkv
