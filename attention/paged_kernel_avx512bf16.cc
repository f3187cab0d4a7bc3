#include "attention/amx.h"
#include "attention/paged_kernel.h"
#include "attention/paged_kernels.h"
#include "attention/wide_intrinsics.h"

#if defined(__x86_64__)

#include <array>
#include <utility>

#include "base/convert.h"

namespace hybridkv {

namespace {

#define HYBRIDKV_BF16_PRODUCTS 1
#define HYBRIDKV_TARGET __attribute__((target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define HYBRIDKV_TILES_TARGET \
  __attribute__((target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define HYBRIDKV_INLINE HYBRIDKV_TARGET static inline __attribute__((always_inline))

#include "attention/paged_simd_avx512.inc"

#include "attention/paged_kernel_body.inc"

#include "attention/paged_kernel_tiles.inc"

}  // namespace

const PagedKernel& paged_kernel_avx512bf16() { return kernel; }
const PagedKernel& paged_kernel_amx() { return tiles_kernel; }

}  // namespace hybridkv

#endif
