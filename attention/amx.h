#pragma once

#include <cstdint>

namespace hybridkv {

/// Sizes of the eight tiles of AMX, as LDTILECFG takes them: matrices that the processor multiplies as a whole. A tile
/// that is not set has no rows and must not be used. Source: Intel's Software Developer's Manual, LDTILECFG, palette 1.
struct alignas(64) AmxTileSizes {
  static constexpr int most_rows = 16, most_row_bytes = 64;

  /// Rows of full width.
  void set(int tile, std::int64_t tile_rows) {
    rows[tile] = static_cast<std::uint8_t>(tile_rows);
    row_bytes[tile] = tile_rows > 0 ? most_row_bytes : 0;
  }

  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t unused[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// Whether this processor multiplies tiles of bf16 and the system lets us. Asks the system for the registers of tiles,
/// which it keeps from a process that does not ask (Linux: arch_prctl, ARCH_REQ_XCOMP_PERM); all threads get them.
bool may_use_amx();

}  // namespace hybridkv
