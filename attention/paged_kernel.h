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

/// Memory that shall be in the cache soon.
struct PrefetchRun {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;  ///< > begin
};
struct PrefetchRuns {
  const PrefetchRun* begin = nullptr;
  const PrefetchRun* end = nullptr;  ///< == begin: nothing
};

/// Rows of queries against one converted tile of keys and values, merged into the rows' running triples.
struct PagedTile {
  std::int64_t rows = 0;
  const float* query = nullptr;          ///< (row, head_size_k), scaled
  std::int64_t head_size_k = 0;
  const float* keys = nullptr;           ///< (panel, channel, key of the panel); null: read in place
  const std::byte* const* key_rows = nullptr;  ///< (key of the tile) where keys are read in place, else null
  std::int64_t key_offset_bytes = 0;     ///< of every row
  DType key_dtype = DType::fp32;
  float* key_scratch = nullptr;          ///< (2 panels) where keys are read in place
  const float* values = nullptr;         ///< (key, value_stride), 0 beyond head_size_v; null: read in place
  const std::byte* const* value_rows = nullptr;  ///< (key) where values are read in place, else null
  std::int64_t value_offset_bytes = 0;   ///< of every row
  DType value_dtype = DType::fp32;
  std::int64_t value_stride = 0;         ///< head_size_v rounded up to the lanes
  const std::int32_t* begin = nullptr;   ///< (row) first key of the tile that the row sees
  const std::int32_t* end = nullptr;     ///< (row) one more than the last; begin == end where it sees none
  float soft_cap = 0;                    ///< 0 = none
  float* scores = nullptr;               ///< scratch (PagedKernel::row_block, paged_tile_tokens)
  float* weighted = nullptr;             ///< (row, value_stride)
  float* max = nullptr;                  ///< (row)
  float* sum = nullptr;                  ///< (row)
  PrefetchRuns prefetch[2];              ///< K and V of what comes next, fetched side by side beside the arithmetic
};

/// The inner loops of the paged backend for one instruction set.
struct PagedKernel {
  std::int64_t lanes;      ///< floats of a vector
  std::int64_t row_block;  ///< most rows of queries that are kept in registers

  /// Converts a panel: row i of `head_size` channels becomes column i of (channel, paged_panel_tokens).
  /// `rows` has paged_panel_tokens addresses; each element lies `offset_bytes` behind, of any alignment.
  void (*load_keys)(const std::byte* const* rows, std::int64_t offset_bytes, DType dtype, std::int64_t head_size,
                    float* panel);

  /// Converts `count` rows of `head_size` channels to (row, stride), 0 behind the channels.
  /// Pre: stride is head_size rounded up to the lanes.
  void (*load_values)(const std::byte* const* rows, std::int64_t offset_bytes, DType dtype, std::int64_t count,
                      std::int64_t head_size, float* values, std::int64_t stride);

  /// Whether so many rows of queries should read values in place: when each value is used once or nearly so.
  bool (*reads_in_place)(std::int64_t rows, DType dtype, std::int64_t head_size_v);

  /// into[i] = into[i] * old_scale + from[i] * new_scale.
  void (*merge)(float* into, float old_scale, const float* from, float new_scale, std::int64_t count);

  /// to[i] = from[i] * scale.
  void (*multiply)(float* to, const float* from, float scale, std::int64_t count);

  /// Attention of the rows over the tile. A row's result does not depend on the other rows; values that are not
  /// finite reach only the rows that see them.
  void (*attend)(const PagedTile& tile);
};

/// Pre: is_available(path).
const PagedKernel& paged_kernel(SimdPath path);

}  // namespace hybridkv
