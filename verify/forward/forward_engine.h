#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/backend.h"
#include "mamba/state_view.h"
#include "simulator/blocks/cache_manager.h"
#include "verify/fault/fault.h"
#include "verify/forward/backend_work.h"
#include "verify/forward/forward_fault.h"
#include "verify/forward/forward_network.h"
#include "verify/forward/held_state.h"
#include "verify/layout/bound_view.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

/// Tokens [computed, end) of one request in one step.
struct ForwardChunk {
  const std::vector<std::uint64_t>* contents = nullptr;  ///< of the sequence, by position; reaches to `end`
  const RequestBlocks* blocks = nullptr;                 ///< tables after the step was scheduled
  std::int64_t computed = 0;
  std::int64_t end = 0;
  bool is_decode = false;           ///< its tokens are read back from the cache
  bool holds_drafts = false;        ///< its tokens are drafts: token i leaves its state in state block i
  std::int64_t accepted_tokens = 1; ///< with drafts: tokens of its last step that were kept
  BlockId kept_slot = null_block_id;///< set: another state slot, to which the state behind `kept_tokens` is copied
  std::int64_t kept_tokens = 0;     ///< computed <= .. <= end
};

/// What the engine did, so that a case can show that its event took place.
struct ForwardWork {
  std::int64_t tokens = 0;               ///< computed
  std::int64_t page_copies = 0;          ///< shared blocks copied before they were written
  std::int64_t state_copies = 0;         ///< running states copied behind a boundary or to another slot, per layer
  std::int64_t exported_states = 0;      ///< stored while their chunk went on, per layer
  std::int64_t zeroed_dirty_states = 0;  ///< fresh states that held other bytes, per layer
  std::int64_t planted = 0;              ///< times that the planted fault took effect
  std::vector<BackendWork> backends;     ///< of attention, in their order
};

/// The tensors of an engine: pools of a plan at full size, and the network run through the plan's views, layer by layer
/// over all requests of a step. Which blocks are whose is the CacheManager's business, that of a radix tree, or of
/// a server with slots, under which a request runs in one state slot.
///
/// The batch of a layer runs through every backend that claims it, all from one plan per step and group; the network
/// goes on with what the first of them gives, and the others must give the same within float32.
///
/// All bytes begin as 0xff, NaN in every float type, so nothing passes that was read before it was written. With a
/// fault of an engine planted they begin as zeros, so that what is found is the fault and not the bytes.
class ForwardEngine {
 public:
  /// `views`: of the plan, as the engine under test binds them; a planted fault may have changed them. `backends`: of
  /// attention; a layer that none of them claims is computed by the reference.
  /// Throws ResourceError where the pools cannot be reserved.
  ForwardEngine(const CachePlan& plan, const ForwardNetwork& network, std::vector<BoundView> views,
                std::span<const AttentionBackend> backends, std::optional<ForwardFault> fault = std::nullopt,
                std::optional<Fault> layout_fault = std::nullopt);

  /// Copies of shared blocks, whole pages of every pool, before a step computes.
  void copy_pages(std::span<const BlockCopy> copies);
  /// With drafts: the accepted state goes on in the first of other state blocks. `before`, `after`: state blocks of
  /// one request by state group, as `draft_blocks` lists them.
  void move_accepted(const std::vector<std::vector<BlockId>>& before, const std::vector<std::vector<BlockId>>& after,
                     std::int64_t accepted_tokens);
  /// The state of every layer, from one slot to another.
  void copy_state_slot(BlockId from, BlockId to);
  /// The state of every recurrent layer in a slot, as a checkpoint outside the pools keeps it.
  std::vector<std::vector<std::byte>> save_state_slot(BlockId slot);
  /// Puts such a checkpoint into a slot.
  void load_state_slot(std::span<const std::vector<std::byte>> states, BlockId slot);
  /// All bytes of cells of the first arena, as a saved prompt keeps them.
  std::vector<std::byte> save_cells(std::span<const BlockId> cells) const;
  /// Puts them into as many other cells.
  void load_cells(std::span<const std::byte> bytes, std::span<const BlockId> cells);
  /// Runs the tokens of all chunks; (chunk) of (token, width), each row of RMS one.
  std::vector<std::vector<float>> run(std::span<const ForwardChunk> chunks);

  const ForwardWork& work() const { return work_; }

 private:
  struct LayerViews {
    const BoundView* kv = nullptr;
    const BoundView* cross = nullptr;  ///< K and V of the encoder's tokens
    StateViews state;
  };
  const GroupPlan& group_of(const LayerViews& views) const { return plan_.groups[views.state.any().group]; }
  /// The bytes of each cell of the first arena, lane by lane.
  std::vector<std::span<std::byte>> pieces_of(std::span<const BlockId> cells) const;
  HeldState state(const LayerViews& views, const StateIds& entry, StateUse use) const;
  /// Position in a state table of the state behind `tokens` tokens.
  std::int64_t state_index(std::int64_t tokens, std::int64_t block_size_tokens) const;
  /// The entry with the block of each table of the layer's state that block_of(table) says.
  template <class BlockOf>
  StateIds entry_of(const LayerViews& views, BlockOf&& block_of) const {
    const auto ids_of = [&](const std::vector<const BoundView*>& tensor) {
      std::vector<BlockId> ids;
      if (tensor.empty()) return ids;
      const auto group = static_cast<std::size_t>(tensor.front()->group);
      for (std::int64_t piece = 0; piece < plan_.groups[group].ids_per_entry; ++piece)
        ids.push_back(block_of(kind_index_[group] + piece));
      return ids;
    };
    return {ids_of(views.state.conv), ids_of(views.state.ssm)};
  }
  /// The entry of a request's state table at that position.
  StateIds entry_at(const LayerViews& views, const RequestBlocks& blocks, std::int64_t index) const;
  /// The same of the i-th state block in lists of `draft_blocks`.
  StateIds draft_entry(const LayerViews& views, const std::vector<std::vector<BlockId>>& lists, std::size_t i) const;
  void zero(const LayerViews& views, const StateIds& entry);
  /// Before a part of a chunk: zeroes the state at position `to` of the table where the part begins the sequence, else
  /// copies there the one at position `from`, as engines do.
  void prepare_state(const LayerViews& views, const ForwardChunk& part, std::int64_t from, std::int64_t to);
  /// What the batch of a step decides for a group of attention layers.
  struct GroupStep {
    GroupBatch batch;
    std::vector<std::unique_ptr<const BackendMetadata>> planned;  // in the order of work_.backends
  };
  /// K and V of the tokens of a step as they will be read back.
  struct KeyValueRows {
    std::vector<float> key, value;
  };
  /// One step: its tokens, and its batch in each group, made by the group's first layer.
  struct Step {
    std::span<const ForwardChunk> chunks;
    std::vector<std::int64_t> positions;       // of all tokens
    std::map<std::pair<std::int64_t, std::int64_t>, GroupStep> groups;  // of attention, by group and query heads
    std::map<std::int64_t, KeyValueRows> rows;  // of the layers before
  };
  const GroupStep& group_step(Step& step, std::int64_t group, const AttentionGeometry& attention) const;
  /// (token, Hq, dv) of a layer by all backends.
  std::vector<float> run_backends(const GroupStep& group, const AttentionTensors& tensors, std::int64_t layer);
  /// The layer whose K and V this one reads, or with that fault planted another earlier one like it.
  std::int64_t read_by(const ForwardLayer& layer);
  /// Stores K and V of a layer and keeps them for the layers behind it.
  void store_rows(const ForwardLayer& layer, AttentionTensors& tensors, std::span<const std::int64_t> slots, Step& step,
                  const std::vector<float>& normalised) const;
  void attend(const ForwardLayer& layer, Step& step, const std::vector<float>& normalised, std::vector<float>& x);
  /// Stores K and V of the encoders whose requests begin in this step, and attends to those of all.
  void attend_to_encoder(const ForwardLayer& layer, Step& step, const std::vector<float>& normalised,
                         std::vector<float>& x);
  void recur(const RecurrentProjection& weights, const LayerViews& views, std::span<const ForwardChunk> chunks,
             const std::vector<float>& normalised, std::vector<float>& x);

  const CachePlan& plan_;
  const ForwardNetwork& network_;
  std::vector<BoundView> bound_;
  std::optional<ForwardFault> fault_;
  std::optional<Fault> layout_fault_;
  PoolSet pools_;
  std::map<std::int64_t, LayerViews> views_;  // by layer number
  std::vector<std::int64_t> kind_index_;      // (group): that of its first table among the tables of its kind
  ForwardWork work_;
};

/// The state blocks of a request, by state table: the running one first, then the speculative ones. A state that lies
/// in several pages has a table for each.
std::vector<std::vector<BlockId>> draft_blocks(const RequestBlocks& blocks);

}  // namespace hybridkv
