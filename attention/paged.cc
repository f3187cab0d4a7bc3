#include "attention/paged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/paged_kernel.h"
#include "base/aligned.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "base/parallel.h"

namespace hybridkv {

namespace {

constexpr std::int64_t floats_per_line = cache_line_bytes / 4;

/// One tile: which keys the rows see, and where its tokens lie for KV head 0.
struct TileRows {
  std::vector<std::int32_t> begin, end;  ///< (row) keys of the tile that the row sees
  std::int64_t first = 0, last = 0;      ///< keys of the tile that some row sees
  std::array<const std::byte*, paged_tile_tokens> keys;
  std::array<const std::byte*, paged_tile_tokens> values;

  /// Whether every row sees all of those keys.
  bool is_uniform(std::int64_t rows) const {
    for (std::int64_t row = 0; row < rows; ++row)
      if (begin[row] != first || end[row] != last) return false;
    return true;
  }
};

/// Distances in a cache.
struct CacheSteps {
  CacheSteps(const TensorView& view)
      : token_bytes(view.layout.stride("token") * element_bytes(view.dtype)),
        head_bytes(view.layout.stride("head") * element_bytes(view.dtype)) {}
  bool heads_inside() const { return head_bytes < token_bytes; }
  std::int64_t token_bytes, head_bytes;
};

/// Triples of rows, and where they go.
struct TripleRow {
  float* weighted;  ///< (head_size_v)
  float* max;
  float* sum;
};

/// What a thread keeps between items.
struct Scratch {
  AlignedVector<float> query;     ///< (head, block of rows, channel, row), see PagedTile
  bool has_left_over = false;     ///< as in PagedTile
  AlignedVector<float> arranged;  ///< (head) the same as PagedKernel::arrange_queries leaves them, of few rows
  AlignedVector<float> converted; ///< rows of K or V that are not read as they are, of few rows of queries
  AlignedVector<float> keys;      ///< (panel, channel, paged_panel_tokens)
  AlignedVector<float> values;    ///< (paged_tile_tokens, value_stride)
  AlignedVector<float> scores;    ///< (row_block, paged_tile_tokens), or of few rows those of every head
  AlignedVector<float> scale;     ///< (head, row), of few rows
  AlignedVector<float> weighted;  ///< (head, row, value_stride)
  AlignedVector<float> max, sum;  ///< (head, row)
  std::vector<VisibleKeys> visible;         ///< (row)
  std::vector<std::int64_t> result_row;     ///< (row), of query head first_head * group
  TileRows tiles[2];              ///< this one and the next
};

class PagedRun {
 public:
  PagedRun(const AttentionInputs& inputs, const PagedPlan& plan, const PagedOptions& options)
      : inputs_(inputs), metadata_(*inputs.metadata), plan_(plan),
        key_(inputs.key), value_(inputs.value), kernel_(paged_kernel(options.simd.value_or(best_simd_path()))),
        threads_(num_threads(options.threads)),
        group_(inputs.num_query_heads / inputs.num_kv_heads()), channels_k_(inputs.head_size_k()),
        channels_v_(inputs.head_size_v()), value_stride_(round_up(channels_v_, kernel_.lanes)),
        form_(key_form(kernel_, inputs.key.dtype, inputs.value.dtype)),
        rounds_weights_(rounds_weights(options, inputs.value.dtype)),
        value_form_(form_ == ProductForm::tiles ? form_
                    : rounds_weights_           ? ProductForm::pairs
                                                : ProductForm::floats),
        padded_k_(padded_channels(channels_k_, form_)),
        query_floats_(query_floats(padded_k_, form_)) {
    for (const std::vector<PagedItem>* items : {&plan.shared_items, &plan.items})
      for (const PagedItem& item : *items) {
        const std::int64_t rows = rows_of(item), heads = item.last_head - item.first_head;
        query_rows_ = std::max(query_rows_, round_up(rows, kernel_.row_block) * heads);
        if (reads_in_place(rows)) sweep_rows_ = std::max(sweep_rows_, round_up(rows, kernel_.lanes) * heads);
      }
  }

  PagedResult run() {
    const std::int64_t rows = inputs_.num_tokens() * inputs_.num_query_heads;
    // Long prompts have results of many megabytes, whose first touch would cost a fault for every 4 KiB.
    constexpr std::int64_t many_bytes = 8 << 20;
    result_.output.out.reserve(rows * channels_v_);
    if (rows * channels_v_ * 4 >= many_bytes)
      advise_huge_pages(std::as_bytes(std::span(result_.output.out.data(), result_.output.out.capacity())));
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
    constexpr std::int64_t rows_at_once = 256;
    parallel_for(static_cast<std::size_t>(ceil_div(rows, rows_at_once)), threads_, [&](std::size_t i, std::size_t) {
      const std::int64_t first = static_cast<std::int64_t>(i) * rows_at_once;
      for (std::int64_t row = first; row < std::min(rows, first + rows_at_once); ++row) finish(row);
    });
    report_memory();
    return std::move(result_);
  }

 private:
  std::int64_t rows_of(const PagedItem& item) const {
    std::int64_t tokens = 0;
    for (std::int64_t s = item.first_segment; s < item.last_segment; ++s) tokens += plan_.segments[s].count;
    return tokens * group_;
  }
  bool reads_in_place(std::int64_t rows) const { return rows <= kernel_.sweep_rows; }

  std::int64_t score_rows() const {
    return std::max(kernel_.score_rows, sweep_rows_ * (form_ == ProductForm::tiles ? 2 : 1));
  }

  void prepare(Scratch& scratch) const {
    scratch.query.resize(query_rows_ * query_floats_);
    scratch.arranged.resize(sweep_rows_ * query_floats_);
    scratch.scale.resize(sweep_rows_);
    scratch.converted.resize(16 * round_up(std::max(channels_k_, channels_v_), 16));
    scratch.keys.resize(paged_tile_tokens * padded_k_);
    scratch.values.resize(paged_tile_tokens * value_stride_);
    scratch.scores.resize(score_rows() * paged_tile_tokens);
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

  void prefetch(const TripleRow& row) const {
    for (std::int64_t channel = 0; channel < channels_v_; channel += floats_per_line)
      __builtin_prefetch(row.weighted + channel, 1);
    __builtin_prefetch(row.max, 1);
    __builtin_prefetch(row.sum, 1);
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

  /// Where the queries of a head begin.
  float* queries(Scratch& scratch, std::int64_t head, std::int64_t rows) const {
    return scratch.query.data() + head * round_up(rows, kernel_.row_block) * query_floats_;
  }
  /// Where a row of them begins.
  float* query_row(Scratch& scratch, std::int64_t head, std::int64_t rows, std::int64_t row) const {
    float* const first = queries(scratch, head, rows);
    if (form_ == ProductForm::tiles) return first + row * query_floats_;
    const std::int64_t in_block = row % kernel_.row_block;
    return first + (row - in_block) * query_floats_ + in_block;
  }

  void load_queries(const PagedItem& item, std::int64_t rows, Scratch& scratch) const {
    const auto scale = static_cast<float>(inputs_.scale);
    scratch.has_left_over = false;
    for (std::int64_t head = 0; head < item.last_head - item.first_head; ++head)
      for (std::int64_t row = 0; row < rows; ++row) {
        if (const std::int64_t ahead = row + 2 * group_; ahead < rows) {
          const float* next = inputs_.query.data() + (scratch.result_row[ahead] + head * group_) * channels_k_;
          for (std::int64_t channel = 0; channel < channels_k_; channel += floats_per_line)
            __builtin_prefetch(next + channel);
        }
        if (kernel_.load_query(inputs_.query.data() + (scratch.result_row[row] + head * group_) * channels_k_, scale,
                               channels_k_, form_, query_row(scratch, head, rows, row)))
          scratch.has_left_over = true;
      }
    if (!reads_in_place(rows)) return;
    for (std::int64_t head = 0; head < item.last_head - item.first_head; ++head)
      kernel_.arrange_queries(queries(scratch, head, rows), rows, channels_k_, form_,
                              scratch.arranged.data() + head * arranged_size(rows));
  }

  std::int64_t arranged_size(std::int64_t rows) const {
    return round_up(rows, kernel_.lanes / paged_score_classes) * query_floats_;
  }

  /// Looks up a tile: the keys that each row sees and, of those that any sees, the addresses. A key that is read for
  /// the others stands in for the rest, so that whole panels can be converted.
  void look_up(const PagedItem& item, std::int64_t number, std::int64_t rows, const Scratch& scratch,
               TileRows& tile) const {
    const std::int64_t start = number * paged_tile_tokens;
    tile.first = paged_tile_tokens;
    tile.last = 0;
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
          const auto into_row = [&](std::int64_t at) {
            return item.partial_row >= 0 ? partial(item.partial_row + head * rows + at)
                                         : result(scratch.result_row[at] + head * group_);
          };
          // Results lie far apart: processors do not fetch them by themselves.
          constexpr std::int64_t rows_ahead = 6;
          if (row + rows_ahead < rows) prefetch(into_row(row + rows_ahead));
          const TripleRow into = into_row(row);
          merge(into, scratch.weighted.data() + from * value_stride_, scratch.max[from], scratch.sum[from]);
        }
    }
  }

  /// Converts the keys and values of a tile that several blocks of rows will use. Returns whether all V is finite.
  bool convert(const TileRows& tile, std::int64_t kv_head, Scratch& scratch) const {
    const std::int64_t panel_size = paged_panel_tokens * padded_k_ / (form_ == ProductForm::floats ? 1 : 2);
    for (std::int64_t panel = tile.first / paged_panel_tokens; panel * paged_panel_tokens < tile.last; ++panel)
      kernel_.load_keys(tile.keys.data() + panel * paged_panel_tokens, kv_head * key_.head_bytes, inputs_.key.dtype,
                        form_, channels_k_, scratch.keys.data() + panel * panel_size);
    const bool in_pairs = value_form_ != ProductForm::floats;
    const std::int64_t keys_at_once = value_form_ == ProductForm::tiles ? paged_panel_tokens : in_pairs ? 2 : 1;
    const std::int64_t first = tile.first / keys_at_once * keys_at_once;
    const std::int64_t last = round_up(tile.last, keys_at_once);
    return kernel_.load_values(tile.values.data() + first, kv_head * value_.head_bytes, inputs_.value.dtype,
                               value_form_, last - first, channels_v_,
                               scratch.values.data() + (in_pairs ? first / 2 : first) * value_stride_, value_stride_);
  }

  void compute_tile(const PagedItem& item, const TileRows& tile, const TileRows& next, std::int64_t rows,
                    Scratch& scratch) const {
    if (tile.first >= tile.last) return;
    if (reads_in_place(rows) && tile.is_uniform(rows)) return sweep(item, tile, next, rows, scratch);
    for (std::int64_t head = 0; head < item.last_head - item.first_head; ++head) {
      PagedTile work;
      work.values_are_finite = convert(tile, item.first_head + head, scratch);
      // The next tile is fetched while this one is computed; its last head is followed by the first one there.
      const bool is_last = head + 1 == item.last_head - item.first_head;
      const std::int64_t next_head = item.first_head + (is_last ? 0 : head + 1);
      work.ahead = {.key_rows = (is_last ? next : tile).keys.data(),
                    .value_rows = (is_last ? next : tile).values.data(),
                    .key_offset_bytes = next_head * key_.head_bytes,
                    .value_offset_bytes = next_head * value_.head_bytes,
                    .key_bytes = channels_k_ * element_bytes(inputs_.key.dtype),
                    .value_bytes = channels_v_ * element_bytes(inputs_.value.dtype),
                    .first = (is_last ? next : tile).first,
                    .last = (is_last ? next : tile).last};
      work.keys = scratch.keys.data();
      work.values = scratch.values.data();
      work.rows = rows;
      work.query = queries(scratch, head, rows);
      work.channels_k = padded_k_;
      work.form = form_;
      work.value_form = value_form_;
      work.weights_are_exact = !rounds_weights_;
      work.score_scale = static_cast<float>(inputs_.scale);
      work.has_left_over = scratch.has_left_over;
      work.value_stride = value_stride_;
      work.begin = tile.begin.data();
      work.end = tile.end.data();
      work.soft_cap = static_cast<float>(inputs_.soft_cap);
      work.scores = scratch.scores.data();
      work.weighted = scratch.weighted.data() + head * rows * value_stride_;
      work.max = scratch.max.data() + head * rows;
      work.sum = scratch.sum.data() + head * rows;
      kernel_.attend(work);
    }
  }

  void sweep(const PagedItem& item, const TileRows& tile, const TileRows& next, std::int64_t rows,
             Scratch& scratch) const {
    PagedSweep work;
    work.heads = item.last_head - item.first_head;
    work.rows = rows;
    work.query = scratch.arranged.data();
    work.form = form_;
    work.value_form = value_form_;
    work.weights_are_exact = !rounds_weights_;
    work.score_scale = static_cast<float>(inputs_.scale);
    work.has_left_over = scratch.has_left_over;
    work.head_size_k = channels_k_;
    work.head_size_v = channels_v_;
    work.key_rows = tile.keys.data();
    work.value_rows = tile.values.data();
    work.key_dtype = inputs_.key.dtype;
    work.value_dtype = inputs_.value.dtype;
    work.key_offset_bytes = item.first_head * key_.head_bytes;
    work.value_offset_bytes = item.first_head * value_.head_bytes;
    work.key_head_bytes = key_.head_bytes;
    work.value_head_bytes = value_.head_bytes;
    work.key_heads_inside = key_.heads_inside();
    work.value_heads_inside = value_.heads_inside();
    work.first = tile.first;
    work.last = tile.last;
    work.next_key_rows = next.keys.data();
    work.next_first = next.first;
    work.next_last = std::max(next.first, next.last);
    work.soft_cap = static_cast<float>(inputs_.soft_cap);
    work.scores = scratch.scores.data();
    work.scale = scratch.scale.data();
    work.converted = scratch.converted.data();
    work.value_stride = value_stride_;
    work.weighted = scratch.weighted.data();
    work.max = scratch.max.data();
    work.sum = scratch.sum.data();
    kernel_.sweep(work);
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
    add("queries", threads, query_rows_ * query_floats_);
    add("converted_rows", threads, 16 * round_up(std::max(channels_k_, channels_v_), 16));
    add("key_tile", threads, paged_tile_tokens * padded_k_);
    add("value_tile", threads, paged_tile_tokens * value_stride_);
    add("arranged_queries", threads, sweep_rows_ * query_floats_);
    add("scores", threads, score_rows() * paged_tile_tokens);
    add("scales", threads, sweep_rows_);
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
  ProductForm form_;
  bool rounds_weights_;
  ProductForm value_form_;
  std::int64_t padded_k_;  ///< padded_channels of K
  std::int64_t query_floats_;
  std::int64_t query_rows_ = 0;  ///< most (head, row) of an item, rows rounded up to blocks
  std::int64_t sweep_rows_ = 0;  ///< most (head, row) of an item that reads in place, rows rounded up to the lanes
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

bool rounds_weights(const PagedOptions& options, DType value_dtype) {
  const PagedKernel& kernel = paged_kernel(options.simd.value_or(best_simd_path()));
  return options.round_weights && kernel.has_pairs && value_dtype == DType::bf16;
}

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
