#include "measure/peak_tiles.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hybridkv {

#if defined(__x86_64__) && defined(__linux__)

namespace {

/// Sizes of the tiles. Source: Intel's Software Developer's Manual, LDTILECFG, palette 1.
struct alignas(64) TileSizes {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t unused[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

constexpr int tiles = 8, tile_rows = 16, tile_row_bytes = 64;

/// Four sums of two tiles times two others: as much as eight tiles hold.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_tiles(std::int64_t steps) {
  TileSizes sizes;
  for (int tile = 0; tile < tiles; ++tile) {
    sizes.row_bytes[tile] = tile_row_bytes;
    sizes.rows[tile] = tile_rows;
  }
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

bool may_use_tiles() {
  constexpr unsigned int amx_bf16 = 1u << 22, amx_tile = 1u << 24;
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & amx_bf16) == 0 || (edx & amx_tile) == 0)
    return false;
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

std::optional<PeakLoop> bf16_tile_loop() {
  static const bool allowed = may_use_tiles();
  if (!allowed) return std::nullopt;
  constexpr double products_of_step = 4.0 * tile_rows * tile_rows * (tile_row_bytes / 2);
  return PeakLoop{2 * products_of_step, &multiply_tiles};
}

#else

std::optional<PeakLoop> bf16_tile_loop() { return std::nullopt; }

#endif

}  // namespace hybridkv
