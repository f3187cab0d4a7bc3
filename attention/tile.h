#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/inputs.h"
#include "attention/memory_report.h"
#include "attention/partial.h"

namespace hybridkv {

template <class Real>
using RowMatrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// K and V of some keys for one KV head, converted for the matrix products.
///
/// A row of V that holds NaN or infinity would reach every token through 0 * NaN in the product, so it is kept
/// apart and added only for the tokens that see it; `value` is 0 there. Rows of keys that nobody sees are never
/// read from the cache and are 0.
template <class Real>
struct KeyValueTile {
  struct IrregularRow {
    std::int64_t row;
    Eigen::Matrix<Real, 1, Eigen::Dynamic> value;
  };

  RowMatrix<Real> key;                  ///< (key, channel of K)
  RowMatrix<Real> value;                ///< (key, channel of V)
  std::vector<IrregularRow> irregular;  ///< rows of V with a value that is not finite, ascending

  /// Room for `keys` rows, all 0.
  void reset(std::int64_t keys, std::int64_t head_size_k, std::int64_t head_size_v);
  /// Takes one row of each.
  void set_row(std::int64_t row, std::span<const float> key_row, std::span<const float> value_row);
};

/// The new tokens of the batch for one KV head: row t is query token t.
template <class Real>
void load_new_tokens(const AttentionInputs& inputs, std::int64_t kv_head, KeyValueTile<Real>& tile);

/// A cached block and which of its slots are read.
struct VisibleBlock {
  std::int64_t id;
  std::int32_t slots;      ///< one more than the last slot
  std::int32_t start = 0;  ///< the first slot
};

/// Cached blocks for one KV head: row i * B + slot is slot `slot` of the i-th block.
template <class Real>
void load_blocks(const AttentionInputs& inputs, std::int64_t kv_head, std::span<const VisibleBlock> blocks,
                 KeyValueTile<Real>& tile);

/// Queries that read one KV head, scaled: row t * (Hq / Hkv) + j is query head kv_head * (Hq / Hkv) + j of token t.
template <class Real>
RowMatrix<Real> load_queries(const AttentionInputs& inputs, std::int64_t kv_head);

/// Which rows of the queries meet which keys under which bias.
template <class Real>
struct TileTask {
  std::int64_t first_token = 0, num_tokens = 0;  ///< query tokens
  std::int64_t num_keys = 0;                     ///< the first rows of the tile
  const Real* bias = nullptr;                    ///< of `first_token`: one element per key, 0 or -inf
  std::int64_t bias_stride = 0;                  ///< elements from one token's bias to the next
  Real soft_cap = 0;                             ///< scores become soft_cap * tanh(score / soft_cap); 0 = none
};

/// Scores and products of `attend`, kept between calls; the largest sizes stay for the memory report.
template <class Real>
struct TileScratch {
  /// A call works on so many tokens at a time that the scores do not exceed this (or on one token).
  static constexpr std::int64_t max_scores = 1 << 20;
  std::vector<Real> scores;    ///< (rows, keys)
  std::vector<Real> weighted;  ///< (rows, channel of V)
  std::vector<Real> keys;      ///< (keys, channel of K), where those that are seen lie apart in the tile
  std::vector<Real> values;    ///< (keys, channel of V), of the same
};

/// What a thread keeps between tiles.
template <class Real>
struct TileRoom {
  void note_tile() { tile_keys = std::max(tile_keys, static_cast<std::int64_t>(tile.key.rows())); }
  KeyValueTile<Real> tile;
  std::int64_t tile_keys = 0;  ///< most rows the tile ever had
  TileScratch<Real> scratch;
};

/// Tells the memory report what all threads had, with so many channels of K and V.
template <class Real>
void note_scratch(const std::vector<TileRoom<Real>>& rooms, std::int64_t head_size_k, std::int64_t head_size_v,
                  MemoryReport& memory);

/// Attention of query rows over a tile, merged into the partial results of the query heads of `kv_head`.
/// A key with bias -inf is not read into the result, whatever its K and V hold, and one that no token of a few sees
/// costs these no product. Source: vllm-gaudi PR 784.
template <class Real>
void attend(const RowMatrix<Real>& queries, const KeyValueTile<Real>& tile, const TileTask<Real>& task,
            std::int64_t kv_head, TileScratch<Real>& scratch, Partial<Real>& into);

extern template struct KeyValueTile<float>;
extern template struct KeyValueTile<double>;
extern template void load_new_tokens(const AttentionInputs&, std::int64_t, KeyValueTile<float>&);
extern template void load_new_tokens(const AttentionInputs&, std::int64_t, KeyValueTile<double>&);
extern template void load_blocks(const AttentionInputs&, std::int64_t, std::span<const VisibleBlock>,
                                 KeyValueTile<float>&);
extern template void load_blocks(const AttentionInputs&, std::int64_t, std::span<const VisibleBlock>,
                                 KeyValueTile<double>&);
extern template RowMatrix<float> load_queries(const AttentionInputs&, std::int64_t);
extern template RowMatrix<double> load_queries(const AttentionInputs&, std::int64_t);
extern template void note_scratch(const std::vector<TileRoom<float>>&, std::int64_t, std::int64_t, MemoryReport&);
extern template void note_scratch(const std::vector<TileRoom<double>>&, std::int64_t, std::int64_t, MemoryReport&);
extern template void attend(const RowMatrix<float>&, const KeyValueTile<float>&, const TileTask<float>&, std::int64_t,
                            TileScratch<float>&, Partial<float>&);
extern template void attend(const RowMatrix<double>&, const KeyValueTile<double>&, const TileTask<double>&,
                            std::int64_t, TileScratch<double>&, Partial<double>&);

}  // namespace hybridkv
