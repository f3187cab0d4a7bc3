#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "planner/cache_plan.h"

namespace hybridkv {

// Where things lie by the published rules of the physical order, in arithmetic of its own: nothing here reads a view or
// calls what makes one, so that both can be compared.

/// Where the pages of a spec put one of its layers.
struct PagePlace {
  std::int64_t group = 0;     ///< position in CachePlan::groups
  std::int64_t pool = 0;
  std::int64_t front = 0;     ///< byte of the pool where the page of id 0 begins; of one allocation the group's first
  std::int64_t position = 0;  ///< in its pack, from 0; of one allocation in its group
  std::int64_t step = 0;      ///< bytes from the page of an id to that of the next one; 0: the page
};

/// Attention layers are taken N at a time in layer order; page i of a spec with G groups is page i / G of its group
/// i % G, and page j of every group lies in pool j. Dual pool: pages of attention have a pool each, spec by spec;
/// behind them each spec of states has one pool with all its pages, the layer outermost. Compact slots: one pool with
/// the slots, then the pages of attention; two-level pages: one pool, all layers of a kind in a small page. One
/// allocation: the same groups, on a stage of a pipeline beginning with the one that has its first layer; pages lie
/// where cache_byte_by_rule says. Pool groups: a pool for K and V of all layers of a spec and one for each tensor of
/// its states, in which the pages of an id lie side by side, in layer order. Rows: a pool for each page, those of
/// attention first, then tensor by tensor of each spec of states.
/// Pre: the layer is of the spec, and `tensor` "kv" or one of its state.
/// Source: vLLM get_kv_cache_groups, PR 35703; dual pool modelled; the others read.
PagePlace page_by_rule(const CachePlan& plan, const SpecPlan& spec, std::int64_t layer, std::string_view tensor);

/// One element of K or V of one layer.
struct KvElement {
  std::int64_t block = 0;
  std::int64_t token = 0;  ///< in its block, 0 to B - 1
  std::int64_t head = 0;
  std::int64_t channel = 0;
  bool is_value = false;   ///< of a latent V is its first channels
};

/// Byte of the pool at which that element of the layer at `position` of its pack starts; nothing where the form has no
/// such order or the page does not divide over its kernel blocks and layers.
/// Page, kernel block, then a mixed-radix number whose digits the order names: "2thd" is K/V, token, head, channel.
/// Example: paged, nhd, b = 16, 2 heads of 4: V of token 3, head 1, channel 2 is element ((1*16 + 3)*2 + 1)*4 + 2.
/// Source: the shapes and stride orders that backends publish, vLLM PR 35703.
std::optional<std::int64_t> kv_byte_by_rule(const KvViewSpec& spec, std::int64_t position, const KvElement& element);

/// What one spec of a group looks like in one allocation: the letters of the order, bytes of memory.
struct CacheFacts {
  CacheOrder order = CacheOrder::lbhnc;
  std::int64_t layers = 0;         ///< L, of the spec in the group, or packs of them
  std::int64_t pack = 1;           ///< layers of a page, side by side in it
  std::int64_t blocks = 0;         ///< T
  std::int64_t heads = 1;          ///< H; of a latent and of a state 1, of nvfp4 K's and V's
  std::int64_t tokens = 1;         ///< N; of a state 1
  std::int64_t kernel_tokens = 1;  ///< n
  std::int64_t content_bytes = 0;  ///< C; of a state all of it
  std::int64_t page_bytes = 0;     ///< P
  std::int64_t block_bytes = 0;    ///< W: of the allocation, divided by its blocks
};
CacheFacts cache_facts(const CachePlan& plan, const SpecPlan& spec, const GroupPlan& group);

/// Where a byte of a slot lies.
struct CacheByte {
  std::int64_t layer = 0;  ///< of the group
  std::int64_t block = 0;
  std::int64_t head = 0;
  std::int64_t token = 0;  ///< in its block, 0 to N - 1
  std::int64_t byte = 0;   ///< in its slot, 0 to C - 1
};

/// Byte of the allocation, counted from where the group's first layer begins. Kernel blocks of n tokens are dense and
/// follow each other. Source: the table of orders, vLLM 0.33 KVCacheLayout.
std::int64_t cache_byte_by_rule(const CacheFacts& facts, const CacheByte& at);

/// Byte of a state at which an element of one of its tensors starts, last axis dense.
/// The convolution lies at byte 0, the recurrent tensor behind it on the next multiple of its element, then a ring of
/// inputs; or as they are placed.
/// Pre: the state has that tensor. Source: vLLM MambaSpec.
std::int64_t state_byte_by_rule(const StateSpec& state, std::string_view tensor, std::span<const std::int64_t> index,
                                const StatePlacement& placement = {});

}  // namespace hybridkv
