#include "attention/unified.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attention/causal_bias.h"
#include "attention/partial.h"
#include "attention/shared_bias.h"
#include "attention/tile.h"
#include "base/error.h"
#include "base/parallel.h"

namespace hybridkv {

namespace {

constexpr const char* chunk_buffer = "chunk_bias_buffer";

/// One run: the inputs with what every part needs of them.
template <class Real>
class UnifiedRun {
 public:
  UnifiedRun(const AttentionInputs& inputs, const UnifiedPlan<Real>& plan, const UnifiedOptions& options)
      : inputs_(inputs), metadata_(*inputs.metadata), plan_(plan), blocks_(plan.blocks), options_(options),
        memory_(plan.memory), threads_(num_threads(static_cast<std::size_t>(options.threads))),
        rooms_(std::min(threads_, static_cast<std::size_t>(inputs.num_kv_heads()))) {
    for (std::int64_t kv_head = 0; kv_head < inputs.num_kv_heads(); ++kv_head)
      queries_.push_back(load_queries<Real>(inputs, kv_head));
  }

  UnifiedResult<Real> run() {
    if (!plan_.causal_bias.empty()) add_part([this](Partial<Real>& into) { causal_part(into); });
    if (options_.shared && !blocks_.shared.empty())
      add_part([this](Partial<Real>& into) { shared_part(into); });
    if (options_.unique && !blocks_.unique.empty())
      add_part([this](Partial<Real>& into) { unique_part(into); });
    if (parts_.empty()) parts_.push_back(no_keys());
    Partial<Real> total = parts_.size() > 1 ? merge_all<Real>(parts_) : std::move(parts_.front());
    merge_sinks(total, inputs_.sinks);
    report_scratch();
    return {finish(total), blocks_, std::move(memory_)};
  }

 private:
  Partial<Real> no_keys() const { return {inputs_.num_tokens(), inputs_.num_query_heads, inputs_.head_size_v()}; }

  template <class Compute>
  void add_part(Compute compute) {
    if (parts_.empty() || options_.merge == MergeMode::offline) parts_.push_back(no_keys());
    compute(parts_.back());
  }

  /// Calls body(kv_head, room) for every KV head on the threads of the run. Query heads of different KV heads share
  /// nothing, so that neither the order nor the number of threads changes a bit.
  template <class Body>
  void for_each_head(const Body& body) {
    parallel_for(queries_.size(), threads_, [&](std::size_t kv_head, std::size_t thread) {
      body(static_cast<std::int64_t>(kv_head), rooms_[thread]);
    });
  }

  void causal_part(Partial<Real>& into) {
    const std::int64_t tokens = inputs_.num_tokens();
    for_each_head([&](std::int64_t kv_head, TileRoom<Real>& room) {
      load_new_tokens(inputs_, kv_head, room.tile);
      room.note_tile();
      for (std::int64_t first = 0; first < tokens; first += options_.slice_tokens) {
        const std::int64_t slice = std::min(options_.slice_tokens, tokens - first);
        const std::int64_t keys = metadata_.causal ? first + slice : tokens;
        attend(queries_[kv_head], room.tile,
               {first, slice, keys, plan_.causal_bias.data() + first * tokens, tokens, soft_cap()}, kv_head,
               room.scratch, into);
      }
    });
  }

  void shared_part(Partial<Real>& into) {
    const auto num_shared = static_cast<std::int64_t>(blocks_.shared.size());
    const std::int64_t chunk = options_.chunk_blocks;
    if (!is_chunked(options_.shared_bias, num_shared, chunk))
      return shared_blocks(0, num_shared, plan_.shared_bias, into);
    std::vector<Real> bias = MemoryReport().allocate_bias<Real>(
        chunk_buffer, {inputs_.num_tokens(), chunk, metadata_.block_size_tokens}, Real{0});
    for (std::int64_t first = 0; first < num_shared; first += chunk) {
      fill_chunk_bias<Real>(plan_.usages, first, chunk, metadata_.block_size_tokens, bias);
      shared_blocks(first, std::min(chunk, num_shared - first), bias, into);
    }
  }

  /// Consecutive shared blocks against the whole query; the bias is theirs, with the same stride for every token.
  void shared_blocks(std::int64_t first, std::int64_t count, const std::vector<Real>& bias, Partial<Real>& into) {
    std::vector<VisibleBlock> visible;
    for (std::int64_t i = first; i < first + count; ++i)
      visible.push_back({blocks_.shared[i].id, blocks_.shared[i].slots, blocks_.shared[i].start});
    const std::int64_t tokens = inputs_.num_tokens();
    const std::int64_t bias_stride = static_cast<std::int64_t>(bias.size()) / tokens;
    for_each_head([&](std::int64_t kv_head, TileRoom<Real>& room) {
      load_blocks(inputs_, kv_head, visible, room.tile);
      room.note_tile();
      attend(queries_[kv_head], room.tile,
             {0, tokens, count * metadata_.block_size_tokens, bias.data(), bias_stride, soft_cap()}, kv_head,
             room.scratch, into);
    });
  }

  void unique_part(Partial<Real>& into) {
    const std::int64_t block_size = metadata_.block_size_tokens;
    for_each_head([&](std::int64_t kv_head, TileRoom<Real>& room) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(blocks_.unique.size()); ++i) {
        const UniqueBlock& block = blocks_.unique[i];
        const VisibleBlock visible[] = {{block.id, block.slots, block.start}};
        const Real* row =
            plan_.unique_bias.data() + unique_bias_row(blocks_.unique, options_.unique_bias, i) * block_size;
        load_blocks(inputs_, kv_head, visible, room.tile);
        room.note_tile();
        attend(queries_[kv_head], room.tile, {block.token, 1, block_size, row, block_size, soft_cap()}, kv_head,
               room.scratch, into);
      }
    });
  }

  Real soft_cap() const { return static_cast<Real>(inputs_.soft_cap); }

  void report_scratch() {
    const auto add = [this](const char* what, std::vector<std::int64_t> shape) {
      memory_.note_scratch<Real>(what, std::move(shape));
    };
    const std::int64_t tokens = inputs_.num_tokens(), heads = inputs_.num_query_heads;
    add("queries", {tokens, heads, inputs_.head_size_k()});
    note_scratch<Real>(rooms_, inputs_.head_size_k(), inputs_.head_size_v(), memory_);
    add("partial_results", {static_cast<std::int64_t>(parts_.size()), tokens, heads, inputs_.head_size_v() + 2});
  }

  const AttentionInputs& inputs_;
  const CommonAttentionMetadata& metadata_;
  const UnifiedPlan<Real>& plan_;
  const BlockPartition& blocks_;
  const UnifiedOptions& options_;
  std::vector<RowMatrix<Real>> queries_;  ///< per KV head
  std::vector<Partial<Real>> parts_;      ///< online: one that all parts merge into
  MemoryReport memory_;
  std::size_t threads_;
  std::vector<TileRoom<Real>> rooms_;     ///< per thread
};

}  // namespace

template <class Real>
UnifiedPlan<Real> plan_unified(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                               const KeyMask& mask, const UnifiedOptions& options) {
  if (options.threads < 0)
    throw InputError(fmt::format("unified attention: {} threads; take at least 1, or 0 for one per core",
                                 options.threads));
  if (options.slice_tokens < 1 || options.chunk_blocks < 1)
    throw InputError(fmt::format("unified attention: slices of {} tokens and chunks of {} blocks; both must be at "
                                 "least 1",
                                 options.slice_tokens, options.chunk_blocks));
  if (options.shared_bias == SharedBiasMode::sparse && mask.kind != MaskKind::full)
    throw InputError(
        "unified attention: the sparse bias lists how many slots a token sees, not from which on; take the "
        "full or chunked bias for windows and chunked local attention, or another backend");
  UnifiedPlan<Real> plan;
  plan.blocks = partition_blocks(metadata, is_decode, mask);
  const std::vector<SharedBlock>& shared = plan.blocks.shared;
  const auto num_shared = static_cast<std::int64_t>(shared.size());
  const std::int64_t tokens = metadata.num_actual_tokens, block = metadata.block_size_tokens;
  if (options.causal && has_causal_part(metadata, is_decode))
    plan.causal_bias = causal_bias<Real>(metadata, is_decode, plan.memory, mask);
  if (options.shared && num_shared > 0) {
    if (is_chunked(options.shared_bias, num_shared, options.chunk_blocks)) {
      plan.usages = block_usages(metadata, is_decode, shared, options.chunk_blocks, plan.memory, mask);
      plan.memory.biases.push_back(
          dense_allocation(chunk_buffer, {tokens, options.chunk_blocks, block}, sizeof(Real)));
    } else if (options.shared_bias == SharedBiasMode::sparse) {
      const UsageCoordinates coordinates = usage_coordinates(metadata, is_decode, shared, plan.memory);
      plan.shared_bias = sparse_shared_bias<Real>(coordinates, tokens, num_shared, block, plan.memory);
    } else {
      plan.shared_bias = full_shared_bias<Real>(metadata, is_decode, shared, plan.memory, mask);
    }
  }
  if (options.unique && !plan.blocks.unique.empty())
    plan.unique_bias = unique_bias<Real>(plan.blocks.unique, options.unique_bias, block, plan.memory);
  return plan;
}

template <class Real>
UnifiedResult<Real> unified_attention(const AttentionInputs& inputs, const UnifiedOptions& options) {
  check_inputs(inputs);
  const UnifiedPlan<Real> plan = plan_unified<Real>(*inputs.metadata, inputs.is_decode, inputs.mask, options);
  return UnifiedRun<Real>(inputs, plan, options).run();
}

template <class Real>
UnifiedResult<Real> unified_attention(const AttentionInputs& inputs, const UnifiedPlan<Real>& plan,
                                      const UnifiedOptions& options) {
  check_tensors(inputs);
  return UnifiedRun<Real>(inputs, plan, options).run();
}

BiasWorkload bias_workload(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           const BlockPartition& blocks, const UnifiedOptions& options, std::int64_t element_bytes,
                           const KeyMask& mask) {
  BiasWorkload work;
  work.query_tokens = metadata.num_actual_tokens;
  work.causal = options.causal && has_causal_part(metadata, is_decode);
  work.block_size_tokens = metadata.block_size_tokens;
  work.mode = options.shared_bias;
  work.chunk_blocks = options.chunk_blocks;
  work.element_bytes = element_bytes;
  work.windowed = mask.kind != MaskKind::full;
  if (options.shared) work.shared_blocks = static_cast<std::int64_t>(blocks.shared.size());
  if (options.unique) work.unique_rows = unique_bias_rows(blocks.unique, options.unique_bias);
  if (work.mode == SharedBiasMode::sparse)
    work.coordinates = usage_coordinates_length(metadata, is_decode, blocks.shared);
  return work;
}

template UnifiedPlan<float> plan_unified(const CommonAttentionMetadata&, const std::vector<bool>&, const KeyMask&,
                                         const UnifiedOptions&);
template UnifiedPlan<double> plan_unified(const CommonAttentionMetadata&, const std::vector<bool>&, const KeyMask&,
                                          const UnifiedOptions&);
template UnifiedResult<float> unified_attention(const AttentionInputs&, const UnifiedPlan<float>&,
                                                const UnifiedOptions&);
template UnifiedResult<double> unified_attention(const AttentionInputs&, const UnifiedPlan<double>&,
                                                 const UnifiedOptions&);
template UnifiedResult<float> unified_attention(const AttentionInputs&, const UnifiedOptions&);
template UnifiedResult<double> unified_attention(const AttentionInputs&, const UnifiedOptions&);

}  // namespace hybridkv
