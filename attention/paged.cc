#include "attention/paged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/paged_kernel.h"
#include "base/aligned.h"
#include "base/error.h"
#include "base/parallel.h"

namespace hybridkv {

namespace {


/// Neighbouring tokens of a tile in one kernel block.
struct TokenRun {
  std::int64_t first, count;  ///< keys of the tile
};

/// One tile: which keys the rows see, and where its tokens lie for KV head 0.
struct TileRows {
  std::vector<std::int32_t> begin, end;  ///< (row) keys of the tile that the row sees
  std::int64_t first = 0, last = 0;      ///< keys of the tile that some row sees
  std::array<const std::byte*, paged_tile_tokens> keys;
  std::array<const std::byte*, paged_tile_tokens> values;
  std::vector<TokenRun> runs;            ///< of those keys
};

/// Distances in a cache.
struct CacheSteps {
  CacheSteps(const TensorView& view)
      : token_bytes(view.layout.stride("token") * element_bytes(view.dtype)),
        head_bytes(view.layout.stride("head") * element_bytes(view.dtype)),
        row_bytes(view.layout.extent("channel") * element_bytes(view.dtype)) {}
  std::int64_t token_bytes, head_bytes;
  std::int64_t row_bytes;  ///< channels of one head
};

/// Triples of rows, and where they go.
struct TripleRow {
  float* weighted;  ///< (head_size_v)
  float* max;
  float* sum;
};

/// What a thread keeps between items.
struct Scratch {
  AlignedVector<float> query;     ///< (head, row, head_size_k), scaled
  AlignedVector<float> keys;      ///< (panel, head_size_k, paged_panel_tokens)
  AlignedVector<float> values;    ///< (paged_tile_tokens, value_stride)
  AlignedVector<float> scores;    ///< (row_block, paged_tile_tokens)
  AlignedVector<float> weighted;  ///< (head, row, value_stride)
  AlignedVector<float> max, sum;  ///< (head, row)
  std::vector<VisibleKeys> visible;         ///< (row)
  std::vector<std::int64_t> result_row;     ///< (row), of query head first_head * group
  TileRows tiles[2];                        ///< this one and the next
  std::vector<PrefetchRun> prefetch[2];     ///< of K and V
};

class PagedRun {
 public:
  PagedRun(const AttentionInputs& inputs, const PagedPlan& plan, const PagedOptions& options)
      : inputs_(inputs), metadata_(*inputs.metadata), plan_(plan),
        key_(inputs.key), value_(inputs.value), kernel_(paged_kernel(options.simd.value_or(best_simd_path()))),
        threads_(num_threads(options.threads)),
        group_(inputs.num_query_heads / inputs.num_kv_heads()), channels_k_(inputs.head_size_k()),
        channels_v_(inputs.head_size_v()), value_stride_(round_up(channels_v_, kernel_.lanes)) {}

  PagedResult run() {
    const std::int64_t rows = inputs_.num_tokens() * inputs_.num_query_heads;
    result_.output.out.resize(rows * channels_v_);
    result_.output.lse.assign(rows, minus_infinity<float>);
    sums_.resize(rows);
    partial_weighted_.resize(plan_.partial_rows * channels_v_);
    partial_max_.assign(plan_.partial_rows, minus_infinity<float>);
    partial_sum_.resize(plan_.partial_rows);
    scratch_.resize(std::min<std::size_t>(threads_, std::max(plan_.items.size(), plan_.shared_items.size())));
    for (Scratch& scratch : scratch_) prepare(scratch);

    for (const std::vector<PagedItem>* items : {&plan_.shared_items, &plan_.items})
      parallel_for(items->size(), threads_,
                   [&](std::size_t i, std::size_t thread) { compute((*items)[i], scratch_[thread]); });
    for (const PagedItem& item : plan_.merges) merge_partials(item);
    for (std::int64_t row = 0; row < rows; ++row) finish(row);
    report_memory();
    return std::move(result_);
  }

 private:
  void prepare(Scratch& scratch) const {
    scratch.query.resize(plan_.max_head_rows * channels_k_);
    scratch.keys.resize(paged_tile_tokens * channels_k_);
    scratch.values.resize(paged_tile_tokens * value_stride_);
    scratch.scores.resize(kernel_.row_block * paged_tile_tokens);
    scratch.weighted.resize(plan_.max_head_rows * value_stride_);
    scratch.max.resize(plan_.max_head_rows);
    scratch.sum.resize(plan_.max_head_rows);
    for (TileRows& tile : scratch.tiles) {
      tile.begin.resize(plan_.max_rows);
      tile.end.resize(plan_.max_rows);
    }
    scratch.visible.resize(plan_.max_rows);
    scratch.result_row.resize(plan_.max_rows);
  }

  /// Row of the results: token * Hq + query head.
  TripleRow result(std::int64_t row) {
    return {result_.output.out.data() + row * channels_v_, &result_.output.lse[row], &sums_[row]};
  }
  TripleRow partial(std::int64_t row) {
    return {partial_weighted_.data() + row * channels_v_, &partial_max_[row], &partial_sum_[row]};
  }

  /// Joins a triple into another, as Partial::merge_row.
  void merge(const TripleRow& into, const float* weighted, float max, float sum) const {
    const float maximum = std::max(*into.max, max);
    if (maximum == minus_infinity<float>) return;
    const float old_scale = std::exp(*into.max - maximum), new_scale = std::exp(max - maximum);
    kernel_.merge(into.weighted, old_scale, weighted, new_scale, channels_v_);
    *into.sum = *into.sum * old_scale + sum * new_scale;
    *into.max = maximum;
  }

  /// Rows of the item: tokens in their order, the query heads of one KV head side by side. Returns how many.
  std::int64_t list_rows(const PagedItem& item, Scratch& scratch) const {
    std::int64_t row = 0;
    for (std::int64_t s = item.first_segment; s < item.last_segment; ++s) {
      const PagedSegment& segment = plan_.segments[s];
      for (std::int64_t i = segment.first; i < segment.first + segment.count; ++i) {
        const std::int64_t token = metadata_.query_start_loc[segment.request] + i;
        for (std::int64_t j = 0; j < group_; ++j, ++row) {
          scratch.visible[row] = visible_keys(metadata_, segment.request, i, inputs_.mask);
          scratch.result_row[row] = token * inputs_.num_query_heads + item.first_head * group_ + j;
        }
      }
    }
    return row;
  }

  void load_queries(const PagedItem& item, std::int64_t rows, Scratch& scratch) const {
    const auto scale = static_cast<float>(inputs_.scale);
    for (std::int64_t head = 0; head < item.last_head - item.first_head; ++head)
      for (std::int64_t row = 0; row < rows; ++row)
        kernel_.multiply(scratch.query.data() + (head * rows + row) * channels_k_,
                         inputs_.query.data() + (scratch.result_row[row] + head * group_) * channels_k_, scale,
                         channels_k_);
  }

  /// Looks up a tile: the keys that each row sees and, of those that any sees, the addresses. A key that is read for
  /// the others stands in for the rest, so that whole panels can be converted.
  void look_up(const PagedItem& item, std::int64_t number, std::int64_t rows, const Scratch& scratch,
               TileRows& tile) const {
    const std::int64_t start = number * paged_tile_tokens;
    tile.first = paged_tile_tokens;
    tile.last = 0;
    tile.runs.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t begin = std::clamp<std::int64_t>(scratch.visible[row].first - start, 0, paged_tile_tokens);
      const std::int64_t end = std::clamp<std::int64_t>(scratch.visible[row].last - start, 0, paged_tile_tokens);
      tile.begin[row] = static_cast<std::int32_t>(begin);
      tile.end[row] = static_cast<std::int32_t>(end);
      if (begin >= end) continue;
      tile.first = std::min(tile.first, begin);
      tile.last = std::max(tile.last, end);
    }
    if (tile.first >= tile.last) return;
    const std::int64_t request = plan_.segments[item.first_segment].request;
    const std::int64_t block = metadata_.block_size_tokens, kernel_block = inputs_.kernel_block_tokens();
    for (std::int64_t i = tile.first; i < tile.last;) {
      const std::int64_t position = start + i;
      const std::int64_t slot = metadata_.block(request, position / block) * block + position % block;
      const std::int64_t count = std::min(tile.last - i, kernel_block - slot % kernel_block);
      tile.runs.push_back({i, count});
      const std::byte* key = inputs_.key.address({slot / kernel_block, slot % kernel_block, 0, 0});
      const std::byte* value = inputs_.value.address({slot / kernel_block, slot % kernel_block, 0, 0});
      for (const std::int64_t end = i + count; i < end; ++i, key += key_.token_bytes, value += value_.token_bytes) {
        tile.keys[i] = key;
        tile.values[i] = value;
      }
    }
    std::fill(tile.keys.begin(), tile.keys.begin() + tile.first, tile.keys[tile.first]);
    std::fill(tile.keys.begin() + tile.last, tile.keys.end(), tile.keys[tile.first]);
    std::fill(tile.values.begin(), tile.values.begin() + tile.first, tile.values[tile.first]);
    std::fill(tile.values.begin() + tile.last, tile.values.end(), tile.values[tile.first]);
  }

  void compute(const PagedItem& item, Scratch& scratch) {
    const std::int64_t rows = list_rows(item, scratch), heads = item.last_head - item.first_head;
    load_queries(item, rows, scratch);
    constexpr std::int64_t tiles_of_split = paged_split_tokens / paged_tile_tokens;
    const std::int64_t first_tile = item.first_split * tiles_of_split;
    look_up(item, first_tile, rows, scratch, scratch.tiles[first_tile % 2]);
    for (std::int64_t split = item.first_split; split < item.last_split; ++split) {
      std::fill_n(scratch.weighted.begin(), heads * rows * value_stride_, 0.0f);
      std::fill_n(scratch.max.begin(), heads * rows, minus_infinity<float>);
      std::fill_n(scratch.sum.begin(), heads * rows, 0.0f);
      for (std::int64_t tile = split * tiles_of_split; tile < (split + 1) * tiles_of_split; ++tile) {
        look_up(item, tile + 1, rows, scratch, scratch.tiles[(tile + 1) % 2]);
        compute_tile(item, scratch.tiles[tile % 2], scratch.tiles[(tile + 1) % 2], rows, scratch);
      }
      for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t from = head * rows + row;
          const TripleRow into = item.partial_row >= 0 ? partial(item.partial_row + from)
                                                       : result(scratch.result_row[row] + head * group_);
          merge(into, scratch.weighted.data() + from * value_stride_, scratch.max[from], scratch.sum[from]);
        }
    }
  }

  /// Enters the keys [first, last) of a tile with all that lies between `from_head` and `to_head`.
  static void add_prefetch(const TileRows& tile, std::int64_t first, std::int64_t last, const CacheSteps& steps,
                           const std::array<const std::byte*, paged_tile_tokens>& addresses, std::int64_t from_head,
                           std::int64_t to_head, std::vector<PrefetchRun>& runs) {
    const std::int64_t from = from_head * steps.head_bytes, to = (to_head - 1) * steps.head_bytes + steps.row_bytes;
    for (const TokenRun& run : tile.runs) {
      const std::int64_t begin = std::max(first, run.first), end = std::min(last, run.first + run.count);
      if (begin >= end) continue;
      if (2 * (to - from) > steps.token_bytes)
        runs.push_back({addresses[begin] + from, addresses[end - 1] + to});
      else
        for (std::int64_t i = begin; i < end; ++i) runs.push_back({addresses[i] + from, addresses[i] + to});
    }
  }

  /// What to bring into the cache while the `head`-th KV head of the item is computed: where the heads of a token lie
  /// side by side a part of the next tile with all its heads, in the order of memory; else the next head.
  void list_prefetches(const PagedItem& item, std::int64_t head, const TileRows& here, const TileRows& next,
                       Scratch& scratch) const {
    const std::int64_t heads = item.last_head - item.first_head;
    const std::int64_t keys = std::max<std::int64_t>(0, next.last - next.first);
    const auto list = [&](const CacheSteps& steps, const std::array<const std::byte*, paged_tile_tokens> TileRows::*at,
                          std::vector<PrefetchRun>& runs) {
      runs.clear();
      if (steps.head_bytes < steps.token_bytes)
        add_prefetch(next, next.first + keys * head / heads, next.first + keys * (head + 1) / heads, steps, next.*at,
                     item.first_head, item.last_head, runs);
      else if (head + 1 < heads)
        add_prefetch(here, here.first, here.last, steps, here.*at, item.first_head + head + 1,
                     item.first_head + head + 2, runs);
      else
        add_prefetch(next, next.first, next.last, steps, next.*at, item.first_head, item.first_head + 1, runs);
    };
    list(key_, &TileRows::keys, scratch.prefetch[0]);
    list(value_, &TileRows::values, scratch.prefetch[1]);
  }

  /// Converts the keys and values of a tile that several blocks of rows will use.
  void convert(const TileRows& tile, std::int64_t kv_head, Scratch& scratch) const {
    for (std::int64_t panel = tile.first / paged_panel_tokens; panel * paged_panel_tokens < tile.last; ++panel)
      kernel_.load_keys(tile.keys.data() + panel * paged_panel_tokens, kv_head * key_.head_bytes, inputs_.key.dtype,
                        channels_k_, scratch.keys.data() + panel * paged_panel_tokens * channels_k_);
    kernel_.load_values(tile.values.data() + tile.first, kv_head * value_.head_bytes, inputs_.value.dtype,
                        tile.last - tile.first, channels_v_, scratch.values.data() + tile.first * value_stride_,
                        value_stride_);
  }

  void compute_tile(const PagedItem& item, const TileRows& here, const TileRows& next, std::int64_t rows,
                    Scratch& scratch) const {
    if (here.first >= here.last) return;
    const std::int64_t heads = item.last_head - item.first_head;
    const bool in_place = kernel_.reads_in_place(rows, inputs_.value.dtype, channels_v_);
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t kv_head = item.first_head + head;
      PagedTile work;
      list_prefetches(item, head, here, next, scratch);
      for (int i = 0; i < 2; ++i)
        work.prefetch[i] = {scratch.prefetch[i].data(), scratch.prefetch[i].data() + scratch.prefetch[i].size()};
      if (in_place) {
        work.key_rows = here.keys.data();
        work.key_offset_bytes = kv_head * key_.head_bytes;
        work.key_dtype = inputs_.key.dtype;
        work.key_scratch = scratch.keys.data();
        work.value_rows = here.values.data();
        work.value_offset_bytes = kv_head * value_.head_bytes;
        work.value_dtype = inputs_.value.dtype;
      } else {
        convert(here, kv_head, scratch);
        work.keys = scratch.keys.data();
        work.values = scratch.values.data();
      }
      work.rows = rows;
      work.query = scratch.query.data() + head * rows * channels_k_;
      work.head_size_k = channels_k_;
      work.value_stride = value_stride_;
      work.begin = here.begin.data();
      work.end = here.end.data();
      work.soft_cap = static_cast<float>(inputs_.soft_cap);
      work.scores = scratch.scores.data();
      work.weighted = scratch.weighted.data() + head * rows * value_stride_;
      work.max = scratch.max.data() + head * rows;
      work.sum = scratch.sum.data() + head * rows;
      kernel_.attend(work);
    }
  }

  void merge_partials(const PagedItem& item) {
    const std::int64_t heads = item.last_head - item.first_head;
    Scratch& scratch = scratch_.front();
    const std::int64_t rows = list_rows(item, scratch);
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t row = 0; row < rows; ++row) {
        const TripleRow from = partial(item.partial_row + head * rows + row);
        merge(result(scratch.result_row[row] + head * group_), from.weighted, *from.max, *from.sum);
      }
  }

  /// The sink, a key without value, then the division.
  void finish(std::int64_t row) {
    const TripleRow triple = result(row);
    if (!inputs_.sinks.empty()) {
      const float sink = inputs_.sinks[row % inputs_.num_query_heads];
      const float maximum = std::max(*triple.max, sink);
      if (maximum > minus_infinity<float>) {
        const float scale = std::exp(*triple.max - maximum);
        kernel_.multiply(triple.weighted, triple.weighted, scale, channels_v_);
        *triple.sum = *triple.sum * scale + std::exp(sink - maximum);
        *triple.max = maximum;
      }
    }
    if (*triple.sum == 0) return;
    kernel_.multiply(triple.weighted, triple.weighted, 1 / *triple.sum, channels_v_);
    *triple.max += std::log(*triple.sum);
  }

  void report_memory() {
    const auto add = [this](const char* what, std::int64_t buffers, std::int64_t count) {
      result_.memory.note_scratch<float>(what, {buffers, count});
    };
    const auto threads = static_cast<std::int64_t>(scratch_.size());
    add("queries", threads, plan_.max_head_rows * channels_k_);
    add("key_tile", threads, paged_tile_tokens * channels_k_);
    add("value_tile", threads, paged_tile_tokens * value_stride_);
    add("scores", threads, kernel_.row_block * paged_tile_tokens);
    add("partial_results", threads, plan_.max_head_rows * (value_stride_ + 2));
    add("split_results", 1, plan_.partial_rows * (channels_v_ + 2));
    add("sums", 1, static_cast<std::int64_t>(sums_.size()));
  }

  const AttentionInputs& inputs_;
  const CommonAttentionMetadata& metadata_;
  const PagedPlan& plan_;
  CacheSteps key_, value_;
  const PagedKernel& kernel_;
  std::size_t threads_;
  std::int64_t group_, channels_k_, channels_v_, value_stride_;
  PagedResult result_;                                        ///< its lse holds the maximum until the end
  std::vector<float> sums_;                                   ///< (T, Hq)
  std::vector<float> partial_weighted_, partial_max_, partial_sum_;  ///< of splits that were computed apart
  std::vector<Scratch> scratch_;                              ///< per thread
};

void check_options(const PagedOptions& options) {
  if (options.threads < 0)
    throw InputError(
        fmt::format("paged attention: {} threads; take at least 1, or 0 for one per core", options.threads));
  if (options.simd && !is_available(*options.simd))
    throw InputError(fmt::format("paged attention: this processor has no {}; its fastest path is {}",
                                 to_string(*options.simd), to_string(best_simd_path())));
}

void check_codecs(const AttentionInputs& inputs) {
  if (inputs.key_codec.has_scales() || inputs.value_codec.has_scales())
    throw InputError("paged attention: its kernels read elements without scales; take another backend");
}

}  // namespace

PagedPlan plan_paged(const CommonAttentionMetadata& metadata, const AttentionShape& shape,
                     const PagedOptions& options) {
  check_options(options);
  return plan_paged(metadata, shape, static_cast<std::int64_t>(num_threads(options.threads)));
}

PagedResult paged_attention(const AttentionInputs& inputs, const PagedOptions& options) {
  check_inputs(inputs);
  check_codecs(inputs);
  const PagedPlan plan = plan_paged(*inputs.metadata, inputs.shape(), options);
  return PagedRun(inputs, plan, options).run();
}

PagedResult paged_attention(const AttentionInputs& inputs, const PagedPlan& plan, const PagedOptions& options) {
  check_tensors(inputs);
  check_codecs(inputs);
  check_options(options);
  return PagedRun(inputs, plan, options).run();
}

}  // namespace hybridkv
