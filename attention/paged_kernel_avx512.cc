#include "attention/paged_kernel.h"
#include "attention/paged_kernels.h"

#if defined(__x86_64__)

// GCC 12 takes the "undefined" operands of its own AVX-512 headers for uses of variables without a value.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <array>
#include <utility>

#include "base/convert.h"

namespace hybridkv {

namespace {

#define HYBRIDKV_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define HYBRIDKV_INLINE HYBRIDKV_TARGET static inline __attribute__((always_inline))

struct Simd {
  using Vector = __m512;
  static constexpr std::int64_t lanes = 16;
  static constexpr int row_block = 14;  // 14 rows of 2 vectors of sums, 2 of keys and a query fill 32 registers
  static constexpr int wide_rows = 6;   // 6 rows of 4 vectors, 4 of keys and a query
  static constexpr bool has_pairs = true;

  HYBRIDKV_INLINE Vector zero() { return _mm512_setzero_ps(); }
  HYBRIDKV_INLINE Vector set(float value) { return _mm512_set1_ps(value); }
  HYBRIDKV_INLINE Vector load(const float* from) { return _mm512_loadu_ps(from); }
  HYBRIDKV_INLINE void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
  HYBRIDKV_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  HYBRIDKV_INLINE Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  HYBRIDKV_INLINE Vector sub(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  HYBRIDKV_INLINE Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  HYBRIDKV_INLINE Vector div(Vector a, Vector b) { return _mm512_div_ps(a, b); }
  /// b where one of them is NaN.
  HYBRIDKV_INLINE Vector max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  HYBRIDKV_INLINE Vector round(Vector v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  HYBRIDKV_INLINE Vector exp2i(Vector v, Vector n) { return _mm512_scalef_ps(v, n); }
  HYBRIDKV_INLINE Vector zero_below(Vector x, Vector bound, Vector v) {
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(x, bound, _CMP_LT_OQ), _mm512_setzero_ps());
  }
  HYBRIDKV_INLINE Vector less(Vector a, Vector b, Vector x, Vector y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  HYBRIDKV_INLINE Vector absolute(Vector v) { return _mm512_abs_ps(v); }
  HYBRIDKV_INLINE Vector copy_sign(Vector size, Vector sign) {
    return _mm512_or_ps(size, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
  }
  HYBRIDKV_INLINE Vector keep_lanes(Vector v, std::int64_t first, std::int64_t last) {
    const std::uint32_t below_last = last >= lanes ? 0xffffu : last <= 0 ? 0u : (1u << last) - 1;
    const std::uint32_t below_first = first >= lanes ? 0xffffu : first <= 0 ? 0u : (1u << first) - 1;
    const auto keep = static_cast<__mmask16>(below_last & ~below_first);
    return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), keep, v);
  }
  HYBRIDKV_INLINE float max_of(Vector v) { return _mm512_reduce_max_ps(v); }
  HYBRIDKV_INLINE float sum_of(Vector v) { return _mm512_reduce_add_ps(v); }

  template <DType dtype>
  HYBRIDKV_INLINE Vector convert(const std::byte* from) {
    if constexpr (dtype == DType::fp32) {
      return _mm512_loadu_ps(from);
    } else if constexpr (element_bytes(dtype) == 2) {
      const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      if constexpr (dtype == DType::fp16) return _mm512_cvtph_ps(codes);
      else return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(codes), 16));
    } else {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      if constexpr (dtype == DType::int8) return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes));
      if constexpr (dtype == DType::uint8) return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(codes));
      // e5m2 is the upper half of fp16; e4m3 fits into fp16 with an exponent that is 8 too small.
      const __m256i wide = _mm256_cvtepu8_epi16(codes);
      if constexpr (dtype == DType::fp8_e5m2) return _mm512_cvtph_ps(_mm256_slli_epi16(wide, 8));
      const __m256i size = _mm256_and_si256(wide, _mm256_set1_epi16(0x7f));
      const __m256i sign = _mm256_slli_epi16(_mm256_andnot_si256(_mm256_set1_epi16(0x7f), wide), 8);
      const __m512 value = _mm512_mul_ps(
          _mm512_cvtph_ps(_mm256_or_si256(_mm256_slli_epi16(size, 7), sign)), _mm512_set1_ps(256.0f));
      const __mmask16 is_nan = _mm256_cmpeq_epi16_mask(size, _mm256_set1_epi16(0x7f));
      return _mm512_mask_mov_ps(value, is_nan, _mm512_set1_ps(__builtin_nanf("")));
    }
  }

  /// C vectors of neighbouring channels. bf16 comes as even and odd channels of every 32, which costs one instruction
  /// a vector instead of two.
  template <DType dtype, int C>
  HYBRIDKV_INLINE void convert_columns(const std::byte* from, Vector (&value)[C]) {
    if constexpr (in_pairs<dtype, C>) {
#pragma GCC unroll 2
      for (int c = 0; c < C; c += 2) {
        const __m512i codes = _mm512_loadu_si512(from + c * lanes * 2);
        value[c] = _mm512_castsi512_ps(_mm512_slli_epi32(codes, 16));
        value[c + 1] = _mm512_castsi512_ps(_mm512_and_si512(codes, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
      }
    } else {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) value[c] = convert<dtype>(from + c * lanes * element_bytes(dtype));
    }
  }
  template <DType dtype, int C>
  HYBRIDKV_INLINE void columns_to_memory_order(Vector (&v)[C]) {
    if constexpr (in_pairs<dtype, C>)
      for (int c = 0; c < C; c += 2) {
        const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        const Vector even = v[c], odd = v[c + 1];
        v[c] = _mm512_permutex2var_ps(even, first, odd);
        v[c + 1] = _mm512_permutex2var_ps(even, second, odd);
      }
  }
  template <DType dtype, int C>
  HYBRIDKV_INLINE void columns_to_load_order(Vector (&v)[C]) {
    if constexpr (in_pairs<dtype, C>)
      for (int c = 0; c < C; c += 2) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        const Vector low = v[c], high = v[c + 1];
        v[c] = _mm512_permutex2var_ps(low, even, high);
        v[c + 1] = _mm512_permutex2var_ps(low, odd, high);
      }
  }
  template <DType dtype, int C>
  static constexpr bool in_pairs = dtype == DType::bf16 && C % 2 == 0;

  /// Eight 32-bit elements of two rows, side by side.
  HYBRIDKV_INLINE __m512 load_two(const void* a, const void* b) {
    const __m512d low = _mm512_castpd256_pd512(_mm256_loadu_pd(static_cast<const double*>(a)));
    return _mm512_castpd_ps(_mm512_insertf64x4(low, _mm256_loadu_pd(static_cast<const double*>(b)), 1));
  }
  HYBRIDKV_INLINE __m512 join_low(__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
  HYBRIDKV_INLINE __m512 join_high(__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
  /// 4 x 4 elements transposed within each 128-bit lane.
  HYBRIDKV_INLINE void transpose_lanes(__m512 (&v)[4]) {
    const __m512 low01 = _mm512_unpacklo_ps(v[0], v[1]), high01 = _mm512_unpackhi_ps(v[0], v[1]);
    const __m512 low23 = _mm512_unpacklo_ps(v[2], v[3]), high23 = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = join_low(low01, low23);
    v[1] = join_high(low01, low23);
    v[2] = join_low(high01, high23);
    v[3] = join_high(high01, high23);
  }

  /// Eight 32-bit elements of 16 rows: out[j] gets element j of every row.
  HYBRIDKV_INLINE void transpose_eight(const std::byte* const* rows, std::int64_t offset, __m512 (&out)[8]) {
    __m512 a[4], b[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      a[i] = load_two(rows[i] + offset, rows[i + 4] + offset);
      b[i] = load_two(rows[i + 8] + offset, rows[i + 12] + offset);
    }
    transpose_lanes(a);
    transpose_lanes(b);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      out[i] = _mm512_shuffle_f32x4(a[i], b[i], 0x88);
      out[i + 4] = _mm512_shuffle_f32x4(a[i], b[i], 0xdd);
    }
  }

  /// 16 rows of 32 bf16 channels into 16 rows of 16 pairs of channels, paged_panel_tokens apart.
  HYBRIDKV_INLINE void transpose_pairs(const std::byte* const* rows, std::int64_t offset, float* panel) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m512 pairs[8];
      transpose_eight(rows, offset + half * 32, pairs);
#pragma GCC unroll 8
      for (int pair = 0; pair < 8; ++pair) store(panel + (half * 8 + pair) * paged_panel_tokens, pairs[pair]);
    }
  }
  /// Both channels of 16 pairs.
  HYBRIDKV_INLINE void split_pairs(const float* from, Vector& even, Vector& odd) {
    const __m512i codes = _mm512_loadu_si512(from);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(codes, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(codes, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }

  /// paged_panel_tokens rows of `count` floats into (count, paged_panel_tokens).
  HYBRIDKV_INLINE void transpose(const std::byte* const* rows, std::int64_t offset, std::int64_t count, float* panel) {
    for (std::int64_t key = 0; key < paged_panel_tokens; key += lanes) {
      std::int64_t channel = 0;
      for (; channel + 8 <= count; channel += 8) {
        __m512 out[8];
        transpose_eight(rows + key, offset + channel * 4, out);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) store(panel + (channel + i) * paged_panel_tokens + key, out[i]);
      }
      for (; channel < count; ++channel)
        for (std::int64_t i = 0; i < lanes; ++i)
          __builtin_memcpy(panel + channel * paged_panel_tokens + key + i, rows[key + i] + offset + channel * 4, 4);
    }
  }
};

#include "attention/paged_kernel_body.inc"

}  // namespace

const PagedKernel& paged_kernel_avx512() { return kernel; }

}  // namespace hybridkv

#endif
