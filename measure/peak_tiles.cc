#include "measure/peak_tiles.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "attention/amx.h"
#include "attention/wide_intrinsics.h"

namespace hybridkv {

#if defined(__x86_64__)

namespace {

/// Four sums of two tiles times two others: as much as eight tiles hold.
__attribute__((target("amx-tile,amx-bf16"))) double multiply_tiles(std::int64_t steps) {
  AmxTileSizes sizes;
  for (int tile = 0; tile < 8; ++tile) sizes.set(tile, AmxTileSizes::most_rows);
  keep(sizes);  // GCC 12 takes the next line for one that reads eight bytes of them
  _tile_loadconfig(&sizes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  constexpr std::int64_t rows = AmxTileSizes::most_rows, row_bytes = AmxTileSizes::most_row_bytes;
  std::int32_t halves[rows * row_bytes / 4], quarters[rows * row_bytes / 4];
  std::fill(std::begin(halves), std::end(halves), bf16_halves);
  std::fill(std::begin(quarters), std::end(quarters), bf16_quarters);
  keep(halves);
  keep(quarters);
  _tile_loadd(4, halves, row_bytes);
  _tile_loadd(5, halves, row_bytes);
  _tile_loadd(6, quarters, row_bytes);
  _tile_loadd(7, quarters, row_bytes);
  for (std::int64_t step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  float sums[4][rows * row_bytes / 4];
  _tile_stored(0, sums[0], row_bytes);
  _tile_stored(1, sums[1], row_bytes);
  _tile_stored(2, sums[2], row_bytes);
  _tile_stored(3, sums[3], row_bytes);
  keep(sums);
  _tile_release();
  return std::accumulate(&sums[0][0], &sums[0][0] + sizeof sums / sizeof(float), 0.0);
}

}  // namespace

std::optional<PeakLoop> bf16_tile_loop() {
  if (!may_use_amx()) return std::nullopt;
  constexpr std::int64_t rows = AmxTileSizes::most_rows;
  return PeakLoop{2.0 * 4 * rows * rows * AmxTileSizes::most_row_bytes / 2, &multiply_tiles};
}

#else

std::optional<PeakLoop> bf16_tile_loop() { return std::nullopt; }

#endif

}  // namespace hybridkv
