#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/simd_path.h"
#include "base/dtype.h"

namespace hybridkv {

/// Keys that a row of queries takes up before it looks at its maximum again. Tiles begin at multiples of it in the
/// positions of a sequence, whatever the batch, so that a token's order of summation depends on its request alone.
inline constexpr std::int64_t paged_tile_tokens = 64;

/// Keys that lie side by side in a converted tile; divides the tile, a multiple of every path's lanes.
inline constexpr std::int64_t paged_panel_tokens = 32;

/// Channels whose products are summed side by side: a score is (s0 + s2) + (s1 + s3), s_i the sum over the channels
/// i, i + 4, i + 8, ... in their order. Keys that are read where they lie come four channels at a time, so that this
/// order needs no transposition of them (paged_kernel_sweep.inc); converted ones keep to it, whoever shares a batch.
inline constexpr std::int64_t paged_score_classes = 4;

/// Where a channel stands in class order: first the channels of class 0, `steps` of them, then those of class 1 ...
constexpr std::int64_t class_place(std::int64_t channel, std::int64_t steps) {
  return channel % paged_score_classes * steps + channel / paged_score_classes;
}
/// Channels of a class, those that are missing included; even, so that channels can stand in pairs.
constexpr std::int64_t class_steps(std::int64_t channels) {
  return (channels + 2 * paged_score_classes - 1) / (2 * paged_score_classes) * 2;
}

/// How the factors of products stand in memory: floats, or two of bf16 in the place of one, whose products are added in
/// one go. Queries and converted keys in pairs: two channels, pairs in class order; a query is three such rows: its
/// values rounded to bf16, what that has left over, rounded, and what that has. The three are exact together, so that
/// a query of bf16 needs the first alone. Weights and values in pairs: two keys, the first at an even place of the
/// tile; weights are rounded to bf16, where PagedOptions::round_weights asks for it.
/// Tiles are pairs that the processor multiplies as matrices (AMX): channels in their own order, rows of queries one
/// after the other, a query and a weight that is to be exact in three parts as above.
enum class ProductForm { floats, pairs, tiles };

/// Channels of products in tiles: whole rows of them.
constexpr std::int64_t tile_channels(std::int64_t head_size) { return (head_size + 31) / 32 * 32; }

/// Rows of queries whose products are added in tiles side by side.
inline constexpr std::int64_t paged_tile_rows = 32;

/// Channels of queries and keys, those that are missing included.
constexpr std::int64_t padded_channels(std::int64_t head_size, ProductForm form) {
  return form == ProductForm::tiles ? tile_channels(head_size) : class_steps(head_size) * paged_score_classes;
}

/// Floats of a row of queries. `channels`: those that are missing included.
constexpr std::int64_t query_floats(std::int64_t channels, ProductForm form) {
  return form == ProductForm::floats ? channels : channels / 2 * 3;
}

/// Rows of K and V that will be converted next.
struct PagedAhead {
  const std::byte* const* key_rows = nullptr;    ///< as PagedSweep::key_rows
  const std::byte* const* value_rows = nullptr;
  std::int64_t key_offset_bytes = 0, value_offset_bytes = 0;  ///< of the head
  std::int64_t key_bytes = 0, value_bytes = 0;   ///< of a row in the head
  std::int64_t first = 0, last = 0;              ///< keys [first, last), none where first >= last
};

/// Rows of queries against one converted tile of keys and values, merged into the rows' running triples.
struct PagedTile {
  std::int64_t rows = 0;
  const float* query = nullptr;          ///< (block of row_block rows, channel, row), scaled, channels in class order;
                                         ///< of tiles (row, part, channel)
  std::int64_t channels_k = 0;           ///< padded_channels; 0 where there is no channel
  ProductForm form = ProductForm::floats;        ///< of queries and keys
  ProductForm value_form = ProductForm::floats;  ///< of weights and values; tiles with tiles alone
  bool weights_are_exact = false;        ///< of tiles: weights are not rounded
  float score_scale = 1;                 ///< of pairs of channels: scores are to be multiplied with it
  bool has_left_over = false;            ///< of pairs: some query is not one of bf16
  const float* keys = nullptr;           ///< (panel, channel, key of the panel), channels in class order; of tiles
                                         ///< (half of a panel, pair of channels, key), of which whole panels are used
  const float* values = nullptr;         ///< (key or pair of keys, value_stride), 0 beyond head_size_v
  std::int64_t value_stride = 0;         ///< head_size_v rounded up to the lanes
  bool values_are_finite = true;         ///< all of them
  const std::int32_t* begin = nullptr;   ///< (row) first key of the tile that the row sees
  const std::int32_t* end = nullptr;     ///< (row) one more than the last; begin == end where it sees none
  float soft_cap = 0;                    ///< 0 = none
  PagedAhead ahead;
  float* scores = nullptr;               ///< scratch (PagedKernel::score_rows, paged_tile_tokens)
  float* weighted = nullptr;             ///< (row, value_stride)
  float* max = nullptr;                  ///< (row)
  float* sum = nullptr;                  ///< (row)
};

/// Few rows of queries of several heads against one tile that is read where it lies, merged into the rows' running
/// triples. Every row sees the same keys of the tile.
struct PagedSweep {
  std::int64_t heads = 0;                  ///< KV heads
  std::int64_t rows = 0;                   ///< of queries, per head
  const float* query = nullptr;            ///< (head) as PagedKernel::arrange_queries leaves them
  ProductForm form = ProductForm::floats;  ///< of queries
  ProductForm value_form = ProductForm::floats;  ///< as in PagedTile; pairs only where V is of bf16
  bool weights_are_exact = false;          ///< as in PagedTile
  float score_scale = 1;                   ///< as in PagedTile
  bool has_left_over = false;              ///< as in PagedTile
  std::int64_t head_size_k = 0, head_size_v = 0;
  const std::byte* const* key_rows = nullptr;    ///< (key of the tile) all of them, also those that no row sees
  const std::byte* const* value_rows = nullptr;  ///< likewise
  DType key_dtype = DType::fp32, value_dtype = DType::fp32;
  std::int64_t key_offset_bytes = 0, value_offset_bytes = 0;  ///< of the first head, in every row
  std::int64_t key_head_bytes = 0, value_head_bytes = 0;      ///< from a head to the next
  bool key_heads_inside = false, value_heads_inside = false;  ///< the heads of a token lie beside each other
  std::int64_t first = 0, last = 0;        ///< keys [first, last) are seen
  const std::byte* const* next_key_rows = nullptr;            ///< of the next tile, where there is one
  std::int64_t next_first = 0, next_last = 0;                 ///< its keys that are seen
  float soft_cap = 0;                      ///< 0 = none
  float* scores = nullptr;     ///< scratch (head, rows rounded up to the lanes, paged_tile_tokens), of tiles twice that
  float* scale = nullptr;      ///< scratch (head, row)
  float* converted = nullptr;  ///< scratch (16, the larger head size rounded up to 16)
  std::int64_t value_stride = 0;           ///< head_size_v rounded up to the lanes
  float* weighted = nullptr;               ///< (head, row, value_stride)
  float* max = nullptr;                    ///< (head, row)
  float* sum = nullptr;                    ///< (head, row)
};

/// The inner loops of the paged backend for one instruction set.
struct PagedKernel {
  std::int64_t lanes;      ///< floats of a vector
  std::int64_t row_block;  ///< most rows of queries that are kept in registers
  std::int64_t sweep_rows; ///< most rows for which reading in place beats converting
  std::int64_t score_rows; ///< most rows whose scores are kept
  bool has_pairs;          ///< adds products of bf16 in pairs
  bool has_tiles;          ///< and in tiles

  /// Converts a panel: row i of `head_size` channels becomes column i of (channel, paged_panel_tokens), the channels in
  /// class order, 0 for those that are missing; in pairs half as many. Of tiles see PagedTile::keys.
  /// `rows` has paged_panel_tokens addresses; each element lies `offset_bytes` behind, of any alignment.
  /// Pre: of pairs and tiles, K is of bf16.
  void (*load_keys)(const std::byte* const* rows, std::int64_t offset_bytes, DType dtype, ProductForm form,
                    std::int64_t head_size, float* panel);

  /// Converts `count` rows of `head_size` channels to (row or pair of rows, stride), 0 behind the channels. Returns
  /// whether all are finite. Pre: stride is head_size rounded up to the lanes; of pairs and tiles, which are the same
  /// here, V is of bf16, count is even.
  bool (*load_values)(const std::byte* const* rows, std::int64_t offset_bytes, DType dtype, ProductForm form,
                      std::int64_t count, std::int64_t head_size, float* values, std::int64_t stride);

  /// A row of queries times `scale` in that form, in class order, 0 for the channels that are missing; of pairs without
  /// the scale. Each goes row_block floats behind the one before, of tiles in their own order one behind the other.
  /// Returns whether anything is left over.
  bool (*load_query)(const float* from, float scale, std::int64_t head_size, ProductForm form, float* to);

  /// Arranges the queries of a head, blocks as `load_query` leaves them, for `sweep`: (vector of rows, step of four
  /// channels, row of the vector, channel of the step), 0 where there is no row. Behind pairs comes what is left over.
  /// Of tiles: (step of 32 channels, part, pair of channels, row rounded up to fours).
  void (*arrange_queries)(const float* query, std::int64_t rows, std::int64_t head_size, ProductForm form,
                          float* arranged);

  /// into[i] = into[i] * old_scale + from[i] * new_scale.
  void (*merge)(float* into, float old_scale, const float* from, float new_scale, std::int64_t count);

  /// to[i] = from[i] * scale.
  void (*multiply)(float* to, const float* from, float scale, std::int64_t count);

  /// Attention of the rows over the tile. A row's result does not depend on the other rows; values that are not
  /// finite reach only the rows that see them.
  void (*attend)(const PagedTile& tile);

  /// The same where it lies, with the same bits.
  void (*sweep)(const PagedSweep& work);
};

/// Pre: is_available(path).
const PagedKernel& paged_kernel(SimdPath path);

/// How a kernel multiplies keys of a type with queries where values are of another: in tiles where both are of bf16.
ProductForm key_form(const PagedKernel& kernel, DType key, DType value);

}  // namespace hybridkv
