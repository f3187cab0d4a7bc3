#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/attention_spec.h"
#include "attention/cache_order.h"
#include "attention/kv_format.h"
#include "attention/kv_view.h"
#include "base/dtype.h"
#include "base/strong_id.h"
#include "mamba/state_spec.h"
#include "planner/cell_type.h"
#include "planner/engine_spec.h"
#include "planner/pool_groups.h"
#include "planner/strategy.h"
#include "planner/tensor_pools.h"
#include "planner/tree_pools.h"

namespace hybridkv {

/// What one rank keeps of an attention layer, as its backend sees it.
struct AttentionGeometry {
  AttentionKind kind = AttentionKind::full;
  DType dtype = DType::bf16;       ///< uint8 where a format with scales is kept as bytes
  std::optional<KvFormat> format;  ///< set: head sizes and channels of the view count bytes, scales included
  std::optional<CellTypes> cells;  ///< set: the same of cells that keep K or V in blocks, or each in a type of its own
  BackendForm form = BackendForm::paged;
  PhysicalOrder order = PhysicalOrder::nhd;
  std::int64_t query_heads = 0;    ///< of this rank; 0 where the model file does not say
  std::int64_t kv_heads = 0;       ///< of this rank
  std::int64_t head_size_k = 0;    ///< elements; mla: the whole latent
  std::int64_t head_size_v = 0;    ///< elements
  std::int64_t window_tokens = 0;  ///< sliding_window, chunked_local, and mla where it keeps no more
  bool operator==(const AttentionGeometry&) const = default;
};

/// How K and V are kept, by name: "bf16", "nvfp4", "q8_0 and f16".
std::string stored_as(const AttentionGeometry& attention);
/// Head sizes count bytes, as what is kept is no element.
inline bool counts_bytes(const AttentionGeometry& attention) { return attention.format || attention.cells; }

/// What the layers of a spec are to their model.
enum class SpecRole {
  attention,  ///< of the model, over every token
  window,     ///< of the model, over the last tokens or those of a chunk
  encoder,    ///< of the model, over the tokens of its encoder
  state,      ///< of its recurrent layers
  draft,      ///< the layers of a draft model
  auxiliary,  ///< a layer beside the model's own: of hidden states, recurrent, an indexer or a ring
};

/// Layers that cache the same thing in the same way.
/// Invariant: exactly one of `attention` and `state` is set.
struct SpecPlan {
  std::int64_t id = 0;                        ///< position in CachePlan::specs
  std::string kind;                           ///< "full_attention", "gdn", "mamba2", "sliding_window", …
  bool draft = false;                         ///< layers of a draft model, numbered from 0 in a list of their own
  bool auxiliary = false;                     ///< beside the model's own layers: does not size the groups
  std::vector<std::int64_t> layers;           ///< layer numbers in the model, ascending; MTP layers go on counting
  std::int64_t layers_per_page = 1;           ///< N for attention, 1 for recurrent layers
  std::int64_t num_pages = 0;                 ///< packs or recurrent layers: ceil(layers / layers_per_page)
  std::int64_t block_size_tokens = 0;         ///< B; recurrent in mode none: the longest max_model_len
  std::int64_t kernel_block_size_tokens = 0;  ///< b; recurrent: the block
  std::int64_t unpadded_page_bytes = 0;       ///< N * B * a1, or M
  double padding_percent = 0;                 ///< 100 (P - unpadded) / unpadded
  std::int64_t bytes_per_token = 0;           ///< a1, of one layer, of an indexer an entry; 0 for recurrent layers
  std::int64_t tokens_per_entry = 1;          ///< that share those bytes: several of an indexer alone
  std::int64_t ring_tokens = 0;               ///< > 0: a ring of so many tokens, one id of every request
  std::int64_t encoder_tokens = 0;            ///< > 0: cross attention to so many tokens, whatever the request's length
  std::int64_t checkpoint_blocks = 0;         ///< c, blocks of a request and group for a state that a chunk exports
  std::optional<AttentionGeometry> attention;
  std::optional<StateSpec> state;
  bool operator==(const SpecPlan&) const = default;

  SpecRole role() const;
  /// Is this attention that lies N layers to a page, with a block and a page that are sized together? Hidden states are
  /// attention too, but they are fitted to the page that the others have made.
  bool is_packed() const { return attention && !auxiliary; }
  /// What an indexer keeps of each token, in the blocks and the table of its attention.
  bool is_indexer() const { return attention && attention->kind == AttentionKind::indexer; }
  /// Does it keep K and V of the encoder's tokens, in place of the request's own?
  bool is_cross() const { return encoder_tokens > 0; }
  /// Bytes of so many tokens of one layer, those of an entry that is begun with it. Pre: attention.
  std::int64_t bytes_of_tokens(std::int64_t tokens) const {
    return Checked(ceil_div(tokens, tokens_per_entry)) * bytes_per_token;
  }
  /// What a block and a kernel block hold of a layer: tokens, but of an indexer entries.
  std::int64_t block_entries() const { return block_size_tokens / tokens_per_entry; }
  std::int64_t kernel_entries() const { return kernel_block_size_tokens / tokens_per_entry; }
  /// Tokens of a request of `tokens` whose K and V are still of use to a layer. Pre: attention.
  std::int64_t live_tokens(std::int64_t tokens) const;
};

/// How derivations call a spec: "spec 0 (gdn)".
std::string spec_label(const SpecPlan& spec);

using ArenaId = StrongId<struct ArenaTag>;  ///< position in Arrangement::arenas
using LaneId = StrongId<struct LaneTag>;    ///< position in Arrangement::lanes
using PoolId = StrongId<struct PoolTag>;    ///< position in Arrangement::pools

/// Pages of a group inside the pieces of one lane: page j has the bytes [first + j * bytes, + bytes) of a piece.
struct PagesInLane {
  std::int64_t first = 0;
  std::int64_t bytes = 0;  ///< of a page
  bool operator==(const PagesInLane&) const = default;
};

/// Layers of one spec that share one block table; its ids are those of one arena.
struct GroupPlan {
  std::int64_t spec = 0;                          ///< SpecPlan::id
  std::vector<std::vector<std::int64_t>> pages;   ///< (position) layers of that page in pack order; empty: all are on
                                                  ///< other stages of a pipeline, and requests have ids of it
  std::int64_t padding_positions = 0;             ///< lanes of the arena that this group leaves empty
  ArenaId arena;
  LaneId first_lane;                              ///< lane of page 0; page j lies in the j-th lane from there
  std::int64_t ids_per_entry = 1;                 ///< ids of a table entry: several where a state lies in small pages
  std::int64_t entries_per_id = 1;                ///< k, entries in an id: several where large pages are split; entry e
                                                  ///< is number e % k of id e / k. Invariant: this or the former is 1
  bool shares_table = false;                      ///< its table and ids are those of the group before it
  std::int64_t lanes_per_page = 1;                ///< lanes over which a page is spread: one a head where heads are
                                                  ///< outside the blocks
  std::optional<PagesInLane> in_lane;             ///< set: all pages lie side by side in the pieces of the first lane
  bool drafts = false;                            ///< its table holds layers of a drafter, MTP layers or those of a
                                                  ///< draft model, here or on another stage of a pipeline
  std::int64_t hole_bytes = 0;                    ///< of an id, that no page of the table uses; counted with the first
  std::optional<std::int64_t> tensor;             ///< set: of the state of its spec that tensor alone; the others lie
                                                  ///< in groups of their own, which share the table
  bool operator==(const GroupPlan&) const = default;

  /// All layers of the group in pool order.
  std::vector<std::int64_t> layers() const {
    std::vector<std::int64_t> flat;
    for (const auto& page : pages) flat.insert(flat.end(), page.begin(), page.end());
    return flat;
  }
};

/// One layer of one spec.
struct LayerRef {
  std::int64_t spec = 0;
  std::int64_t layer = 0;
  bool operator==(const LayerRef&) const = default;
};

/// Ids that are interchangeable: one free list. An id owns one piece in every lane of its arena.
struct ArenaPlan {
  std::string name;               ///< "blocks", "tokens", "states": how messages call its ids
  std::int64_t num_ids = 0;       ///< null id included
  std::int64_t bytes_per_id = 0;  ///< over all lanes of the arena, and what lies beside them
  bool has_null_id = true;        ///< id 0 is the null id, which nobody gets
  /// The first that somebody can get.
  std::int64_t first_id() const { return has_null_id ? 1 : 0; }
  std::int64_t usable_ids() const { return std::max<std::int64_t>(0, num_ids - first_id()); }
  bool operator==(const ArenaPlan&) const = default;
};

/// A row of equal pieces of one pool: id i of the arena owns the bytes [offset + i * stride, + bytes).
struct LanePlan {
  ArenaId arena;
  PoolId pool;
  std::int64_t offset = 0;  ///< bytes from the front of the pool
  std::int64_t stride = 0;  ///< bytes from one id's piece to the next one's
  std::int64_t bytes = 0;   ///< of a piece: a page
  std::int64_t begin(std::int64_t id) const { return offset + id * stride; }
  bool operator==(const LanePlan&) const = default;
};

/// One allocation.
struct PoolPlan {
  std::int64_t bytes = 0;
  std::int64_t page_bytes = 0;      ///< of a piece of its lanes
  std::vector<LayerRef> shared_by;  ///< in the order of the groups
  bool operator==(const PoolPlan&) const = default;
};

/// Memory beside the pages: per block (an indexer) or per request (a ring).
struct ExtraPlan {
  std::string what;
  std::int64_t bytes_per_block = 0;     ///< added to every block id, outside the page
  std::int64_t blocks_per_request = 0;  ///< block ids added to every request
  bool operator==(const ExtraPlan&) const = default;
};

/// All that a strategy decides: who shares tables, ids and bytes. What a workload does with it (capacity, prefixes,
/// waste) is derived from it alone.
struct Arrangement {
  const EngineRules* rules = default_rules();  ///< whose rules these are
  Strategy strategy = Strategy::packed_attention;
  std::optional<BackendProfile> backend_profile;
  std::optional<CacheOrder> cache_order;    ///< of the one allocation; unset: pools with the block outermost
  std::int64_t attention_pack_size = 1;     ///< N
  CacheMode cache_mode = CacheMode::none;
  std::int64_t speculative_tokens = 0;      ///< s
  std::int64_t max_num_batched_tokens = 0;  ///< tokens of one step
  std::int64_t concurrent_batches = 1;      ///< steps in flight; with their tokens they bound what a window holds
  std::int64_t lookahead_tokens = 0;        ///< tokens behind a prefix that its key covers too, for a drafter
  std::int64_t decode_context_parallel = 1; ///< ranks over which the tokens of full attention are spread
  SupposedLayout what_if;                   ///< rules of no engine that it follows in place of the engine's own
  std::vector<SpecPlan> specs;
  std::vector<GroupPlan> groups;
  std::vector<ArenaPlan> arenas;
  std::vector<LanePlan> lanes;
  std::vector<PoolPlan> pools;
  std::vector<ExtraPlan> extras;
  std::optional<TreePools> tree_pools;      ///< of releases with tree pools
  std::optional<PoolGroups> pool_groups;    ///< of strategy pool_groups
  std::optional<SequenceRows> rows;         ///< of strategy sequence_rows
  bool operator==(const Arrangement&) const = default;

  const SpecPlan& spec_of(const GroupPlan& group) const { return specs[static_cast<std::size_t>(group.spec)]; }
  const ArenaPlan& arena_of(const GroupPlan& group) const { return arenas[group.arena.index()]; }
  /// Lane of one page of a group.
  LaneId lane_of(const GroupPlan& group, std::size_t page) const {
    if (group.in_lane) return group.first_lane;
    return {group.first_lane.value + static_cast<std::int64_t>(page) * group.lanes_per_page};
  }
  /// Bytes of a page of a group: of the piece of its lane, of its part of it, or of all pieces over which it is spread.
  std::int64_t page_bytes(const GroupPlan& group) const {
    if (group.in_lane) return group.in_lane->bytes;
    return lanes[group.first_lane.index()].bytes * group.lanes_per_page;
  }
  /// Bytes from the front of the piece of its lane at which a page begins.
  std::int64_t offset_in_piece(const GroupPlan& group, std::size_t page) const {
    return group.in_lane ? group.in_lane->first + static_cast<std::int64_t>(page) * group.in_lane->bytes : 0;
  }
  /// What the table entries of a group number: the places of all ids of its arena, the null id's first.
  std::int64_t num_places(const GroupPlan& group) const { return arena_of(group).num_ids * group.entries_per_id; }
  /// Bytes of a place in a piece of the first lane of a group, which entries_per_id of them share evenly.
  std::int64_t place_bytes(const GroupPlan& group) const {
    return lanes[group.first_lane.index()].bytes / group.entries_per_id;
  }
  /// Bytes from one of them to the next one.
  std::int64_t place_stride(const GroupPlan& group) const {
    return lanes[group.first_lane.index()].stride / group.entries_per_id;
  }
  /// The tensors of a state that lie in a page of a group: all, or the one that is its own. Pre: a group of states.
  std::span<const StateTensor> tensors_of(const GroupPlan& group) const {
    const std::vector<StateTensor>& all = spec_of(group).state->tensors;
    if (!group.tensor) return all;
    return std::span(all).subspan(static_cast<std::size_t>(*group.tensor), 1);
  }
  /// What lies in a page of a group before it is padded: the unpadded page of its spec, or its tensor.
  std::int64_t content_bytes(const GroupPlan& group) const {
    return group.tensor ? tensors_of(group).front().bytes() : spec_of(group).unpadded_page_bytes;
  }
  /// What a page of one table entry of a group has room for: that of all its ids.
  std::int64_t entry_page_bytes(const GroupPlan& group) const;
  /// Bytes of one table entry of a group, in the lanes that it leaves empty too.
  std::int64_t entry_bytes(const GroupPlan& group) const;
  /// All groups take the same ids, whose pages have one size.
  bool is_uniform() const;
  /// P, the piece of every lane. Pre: is_uniform.
  std::int64_t page_bytes() const;
  /// Ids of the one arena, null block included. Pre: is_uniform.
  std::int64_t num_blocks() const;
  /// The same without the null block. Pre: is_uniform.
  std::int64_t usable_blocks() const;
  /// A request can go on from what groups of this spec keep after every multiple of so many tokens: those of a block. 0
  /// where it can go on from nothing, since states of mode none and K and V of an encoder are kept for no other
  /// request. Pre: the spec is no ring, as nothing is found again in one.
  std::int64_t grain_tokens(const SpecPlan& spec) const;
  /// Do layers attend to an encoder? Then no prefix of a request is of use to another one, whose encoder read something
  /// else.
  bool has_cross_attention() const {
    return std::any_of(specs.begin(), specs.end(), [](const SpecPlan& spec) { return spec.is_cross(); });
  }
  /// States of a request after its draft tokens: one for each, but none where a state's page holds their inputs.
  std::int64_t draft_states() const;
  /// Is a state kept at every boundary of its block, wherever chunks end?
  bool keeps_every_boundary() const {
    return cache_mode == CacheMode::all || (cache_mode == CacheMode::align && rules->checkpoint_tokens);
  }
  /// Ids of arena 0 that every request takes beside its groups'.
  std::int64_t extra_ids_per_request() const;
  /// Bytes beside the pages of each id of arena 0.
  std::int64_t extra_bytes_per_id() const;
  /// Bytes of the memory that go to neither pools nor extras, less the bytes of pools that are not taken from the
  /// memory. 0 except for tree pools, and below 0 for pool groups, which round the memory up.
  std::int64_t beside_budget_bytes() const {
    if (pool_groups) return -pool_groups->borrowed_bytes;
    return tree_pools ? Checked(tree_pools->outside_bytes()) - tree_pools->unbudgeted_bytes() : Checked(0);
  }
  /// Bytes of all pools.
  std::int64_t pool_bytes() const;
  /// The same with what lies beside the pages.
  std::int64_t allocated_bytes() const;
};

}  // namespace hybridkv
