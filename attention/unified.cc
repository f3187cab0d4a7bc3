#include "attention/unified.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attention/causal_bias.h"
#include "attention/partial.h"
#include "attention/shared_bias.h"
#include "attention/tile.h"
#include "base/error.h"

namespace hybridkv {

namespace {

/// One run: the inputs with what every part needs of them.
template <class Real>
class UnifiedRun {
 public:
  UnifiedRun(const AttentionInputs& inputs, const UnifiedOptions& options)
      : inputs_(inputs), options_(options), blocks_(partition_blocks(inputs.metadata, inputs.is_decode, inputs.mask)) {
    for (std::int64_t kv_head = 0; kv_head < inputs.num_kv_heads(); ++kv_head)
      queries_.push_back(load_queries<Real>(inputs, kv_head));
  }

  UnifiedResult<Real> run() {
    if (options_.causal && has_causal_part(inputs_.metadata, inputs_.is_decode))
      add_part([this](Partial<Real>& into) { causal_part(into); });
    if (options_.shared && !blocks_.shared.empty())
      add_part([this](Partial<Real>& into) { shared_part(into); });
    if (options_.unique && !blocks_.unique.empty())
      add_part([this](Partial<Real>& into) { unique_part(into); });
    if (parts_.empty()) parts_.push_back(no_keys());
    Partial<Real> total = parts_.size() > 1 ? merge_all<Real>(parts_) : std::move(parts_.front());
    merge_sinks(total, inputs_.sinks);
    report_scratch();
    return {finish(total), std::move(blocks_), std::move(memory_)};
  }

 private:
  Partial<Real> no_keys() const { return {inputs_.num_tokens(), inputs_.num_query_heads, inputs_.head_size_v()}; }

  template <class Compute>
  void add_part(Compute compute) {
    if (parts_.empty() || options_.merge == MergeMode::offline) parts_.push_back(no_keys());
    compute(parts_.back());
  }

  void causal_part(Partial<Real>& into) {
    const std::int64_t tokens = inputs_.num_tokens();
    const std::vector<Real> bias = causal_bias<Real>(inputs_.metadata, inputs_.is_decode, memory_, inputs_.mask);
    for (std::int64_t kv_head = 0; kv_head < inputs_.num_kv_heads(); ++kv_head) {
      load_new_tokens(inputs_, kv_head, tile_);
      note_tile();
      for (std::int64_t first = 0; first < tokens; first += options_.slice_tokens) {
        const std::int64_t slice = std::min(options_.slice_tokens, tokens - first);
        const std::int64_t keys = inputs_.metadata.causal ? first + slice : tokens;
        attend(queries_[kv_head], tile_, {first, slice, keys, bias.data() + first * tokens, tokens, soft_cap()},
               kv_head, scratch_, into);
      }
    }
  }

  void shared_part(Partial<Real>& into) {
    const CommonAttentionMetadata& metadata = inputs_.metadata;
    const auto num_shared = static_cast<std::int64_t>(blocks_.shared.size());
    if (is_chunked(options_.shared_bias, num_shared, options_.chunk_blocks)) {
      const std::int64_t chunk = options_.chunk_blocks;
      const BlockUsages usages =
          block_usages(metadata, inputs_.is_decode, blocks_.shared, chunk, memory_, inputs_.mask);
      std::vector<Real> bias = memory_.allocate_bias<Real>(
          "chunk_bias_buffer", {inputs_.num_tokens(), chunk, metadata.block_size_tokens}, Real{0});
      for (std::int64_t first = 0; first < num_shared; first += chunk) {
        fill_chunk_bias<Real>(usages, first, chunk, metadata.block_size_tokens, bias);
        shared_blocks(first, std::min(chunk, num_shared - first), bias, into);
      }
    } else if (options_.shared_bias == SharedBiasMode::sparse) {
      const UsageCoordinates coordinates = usage_coordinates(metadata, inputs_.is_decode, blocks_.shared, memory_);
      shared_blocks(0, num_shared,
                    sparse_shared_bias<Real>(coordinates, inputs_.num_tokens(), num_shared,
                                             metadata.block_size_tokens, memory_),
                    into);
    } else {
      shared_blocks(0, num_shared,
                    full_shared_bias<Real>(metadata, inputs_.is_decode, blocks_.shared, memory_, inputs_.mask), into);
    }
  }

  /// Consecutive shared blocks against the whole query; the bias is theirs, with the same stride for every token.
  void shared_blocks(std::int64_t first, std::int64_t count, const std::vector<Real>& bias, Partial<Real>& into) {
    std::vector<VisibleBlock> visible;
    for (std::int64_t i = first; i < first + count; ++i)
      visible.push_back({blocks_.shared[i].id, blocks_.shared[i].slots, blocks_.shared[i].start});
    const std::int64_t tokens = inputs_.num_tokens();
    const std::int64_t bias_stride = static_cast<std::int64_t>(bias.size()) / tokens;
    for (std::int64_t kv_head = 0; kv_head < inputs_.num_kv_heads(); ++kv_head) {
      load_blocks(inputs_, kv_head, visible, tile_);
      note_tile();
      attend(queries_[kv_head], tile_,
             {0, tokens, count * inputs_.metadata.block_size_tokens, bias.data(), bias_stride, soft_cap()}, kv_head,
             scratch_, into);
    }
  }

  void unique_part(Partial<Real>& into) {
    const std::int64_t block_size = inputs_.metadata.block_size_tokens;
    const std::vector<Real> bias = unique_bias<Real>(blocks_.unique, options_.unique_bias, block_size, memory_);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(blocks_.unique.size()); ++i) {
      const UniqueBlock& block = blocks_.unique[i];
      const VisibleBlock visible[] = {{block.id, block.slots, block.start}};
      const Real* row = bias.data() + unique_bias_row(blocks_.unique, options_.unique_bias, i) * block_size;
      for (std::int64_t kv_head = 0; kv_head < inputs_.num_kv_heads(); ++kv_head) {
        load_blocks(inputs_, kv_head, visible, tile_);
        note_tile();
        attend(queries_[kv_head], tile_, {block.token, 1, block_size, row, block_size, soft_cap()}, kv_head, scratch_,
               into);
      }
    }
  }

  Real soft_cap() const { return static_cast<Real>(inputs_.soft_cap); }

  void note_tile() { tile_keys_ = std::max(tile_keys_, static_cast<std::int64_t>(tile_.key.rows())); }

  void report_scratch() {
    const auto add = [this](const char* what, std::vector<std::int64_t> shape) {
      memory_.note_scratch<Real>(what, std::move(shape));
    };
    const std::int64_t tokens = inputs_.num_tokens(), heads = inputs_.num_query_heads;
    add("queries", {tokens, heads, inputs_.head_size_k()});
    add("key_tile", {tile_keys_, inputs_.head_size_k()});
    add("value_tile", {tile_keys_, inputs_.head_size_v()});
    add("scores", {static_cast<std::int64_t>(scratch_.scores.size())});
    add("weighted_values", {static_cast<std::int64_t>(scratch_.weighted.size())});
    add("partial_results", {static_cast<std::int64_t>(parts_.size()), tokens, heads, inputs_.head_size_v() + 2});
  }

  const AttentionInputs& inputs_;
  const UnifiedOptions& options_;
  BlockPartition blocks_;
  std::vector<RowMatrix<Real>> queries_;  ///< per KV head
  std::vector<Partial<Real>> parts_;      ///< online: one that all parts merge into
  KeyValueTile<Real> tile_;
  std::int64_t tile_keys_ = 0;            ///< most rows the tile ever had
  TileScratch<Real> scratch_;
  MemoryReport memory_;
};

}  // namespace

template <class Real>
UnifiedResult<Real> unified_attention(const AttentionInputs& inputs, const UnifiedOptions& options) {
  check_inputs(inputs);
  if (options.slice_tokens < 1 || options.chunk_blocks < 1)
    throw InputError(fmt::format("unified attention: slices of {} tokens and chunks of {} blocks; both must be at "
                                 "least 1",
                                 options.slice_tokens, options.chunk_blocks));
  if (options.shared_bias == SharedBiasMode::sparse && inputs.mask.kind != MaskKind::full)
    throw InputError(
        "unified attention: the sparse bias lists how many slots a token sees, not from which on; take the "
        "full or chunked bias for windows and chunked local attention, or another backend");
  return UnifiedRun<Real>(inputs, options).run();
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

template UnifiedResult<float> unified_attention(const AttentionInputs&, const UnifiedOptions&);
template UnifiedResult<double> unified_attention(const AttentionInputs&, const UnifiedOptions&);

}  // namespace hybridkv
