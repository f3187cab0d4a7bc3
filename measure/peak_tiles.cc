#include "measure/peak_tiles.h"

#include <cstdint>

#include "attention/amx.h"
#include "attention/wide_intrinsics.h"

namespace hybridkv {

#if defined(__x86_64__)

namespace {

/// Four sums of two tiles times two others: as much as eight tiles hold.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_tiles(std::int64_t steps) {
  AmxTileSizes sizes;
  for (int tile = 0; tile < 8; ++tile) sizes.set(tile, AmxTileSizes::most_rows);
  keep(sizes);  // GCC 12 takes the next line for one that reads eight bytes of them
  _tile_loadconfig(&sizes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
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
