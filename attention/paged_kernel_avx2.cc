#include "attention/paged_kernel.h"
#include "attention/paged_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <utility>

#include "base/convert.h"

namespace hybridkv {

namespace {

#define HYBRIDKV_TARGET __attribute__((target("avx2,fma,f16c")))
#define HYBRIDKV_INLINE HYBRIDKV_TARGET static inline __attribute__((always_inline))

struct Simd {
  using Vector = __m256;
  static constexpr std::int64_t lanes = 8;
  static constexpr int row_block = 6;   // 6 rows of 2 vectors of sums, 2 of values and a weight fill 16 registers
  static constexpr int wide_rows = 2;   // 2 rows of 4 vectors, 4 of values and a weight
  static constexpr int sweep_keys = 8;  // as many sums as two units of products of 4 cycles keep on their way

  static constexpr bool has_bf16_products = false;

  HYBRIDKV_INLINE Vector zero() { return _mm256_setzero_ps(); }
  HYBRIDKV_INLINE Vector set(float value) { return _mm256_set1_ps(value); }
  HYBRIDKV_INLINE Vector load(const float* from) { return _mm256_loadu_ps(from); }
  HYBRIDKV_INLINE void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
  HYBRIDKV_INLINE Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  HYBRIDKV_INLINE Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  HYBRIDKV_INLINE Vector sub(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
  HYBRIDKV_INLINE Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  HYBRIDKV_INLINE Vector div(Vector a, Vector b) { return _mm256_div_ps(a, b); }
  /// b where one of them is NaN.
  HYBRIDKV_INLINE Vector max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  HYBRIDKV_INLINE Vector round(Vector v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// Pre: the result is a normal number.
  HYBRIDKV_INLINE Vector exp2i(Vector v, Vector n) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
  }
  HYBRIDKV_INLINE Vector zero_below(Vector x, Vector bound, Vector v) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, bound, _CMP_LT_OQ), v);
  }
  HYBRIDKV_INLINE Vector less(Vector a, Vector b, Vector x, Vector y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  HYBRIDKV_INLINE Vector absolute(Vector v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v); }
  HYBRIDKV_INLINE Vector copy_sign(Vector size, Vector sign) {
    return _mm256_or_ps(size, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
  }
  HYBRIDKV_INLINE Vector keep_lanes(Vector v, std::int64_t first, std::int64_t last) {
    const auto bound = [](std::int64_t lane) { return static_cast<int>(lane < 0 ? 0 : lane > lanes ? lanes : lane); };
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i keep = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(bound(first)), lane),
                                             _mm256_cmpgt_epi32(_mm256_set1_epi32(bound(last)), lane));
    return _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), v, _mm256_castsi256_ps(keep));
  }
  HYBRIDKV_INLINE float max_of(Vector v) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  HYBRIDKV_INLINE float sum_of(Vector v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }

  template <DType dtype>
  HYBRIDKV_INLINE Vector convert(const std::byte* from) {
    if constexpr (dtype == DType::fp32) {
      return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
    } else if constexpr (element_bytes(dtype) == 2) {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      if constexpr (dtype == DType::fp16) return _mm256_cvtph_ps(codes);
      else return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(codes), 16));
    } else {
      const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      if constexpr (dtype == DType::int8) return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
      if constexpr (dtype == DType::uint8) return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes));
      // e5m2 is the upper half of fp16; e4m3 fits into fp16 with an exponent that is 8 too small.
      const __m128i wide = _mm_cvtepu8_epi16(codes);
      if constexpr (dtype == DType::fp8_e5m2) return _mm256_cvtph_ps(_mm_slli_epi16(wide, 8));
      const __m128i size = _mm_and_si128(wide, _mm_set1_epi16(0x7f));
      const __m128i sign = _mm_slli_epi16(_mm_andnot_si128(_mm_set1_epi16(0x7f), wide), 8);
      const __m256 value = _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(_mm_slli_epi16(size, 7), sign)),
                                         _mm256_set1_ps(256.0f));
      const __m128i is_nan = _mm_cmpeq_epi16(size, _mm_set1_epi16(0x7f));
      return _mm256_blendv_ps(value, _mm256_set1_ps(__builtin_nanf("")),
                              _mm256_castsi256_ps(_mm256_cvtepi16_epi32(is_nan)));
    }
  }

  HYBRIDKV_INLINE Vector repeat_four(const float* from) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(from));
  }
  HYBRIDKV_INLINE Vector sum_fours(Vector a, Vector b, Vector c, Vector d) {
    const __m256d ab = _mm256_castps_pd(add(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)));
    const __m256d cd = _mm256_castps_pd(add(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)));
    return add(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)), _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
  }
  HYBRIDKV_INLINE void store_fours(float* to, std::int64_t stride, Vector v) {
    _mm_storeu_ps(to, _mm256_castps256_ps128(v));
    _mm_storeu_ps(to + stride, _mm256_extractf128_ps(v, 1));
  }

  HYBRIDKV_INLINE __m128 load_four(const std::byte* from) { return _mm_loadu_ps(reinterpret_cast<const float*>(from)); }

  /// The channels [first, last) of paged_panel_tokens rows of floats into (channel in class order, key).
  HYBRIDKV_INLINE void transpose(const std::byte* const* rows, std::int64_t offset, std::int64_t first,
                                 std::int64_t last, std::int64_t steps, float* panel) {
    for (std::int64_t key = 0; key < paged_panel_tokens; key += 4) {
      std::int64_t channel = first;
      for (; channel + 4 <= last; channel += 4) {
        const std::int64_t at = offset + channel * 4;
        __m128 r0 = load_four(rows[key] + at), r1 = load_four(rows[key + 1] + at);
        __m128 r2 = load_four(rows[key + 2] + at), r3 = load_four(rows[key + 3] + at);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        float* to = panel + class_place(channel, steps) * paged_panel_tokens + key;
        const std::int64_t class_size = steps * paged_panel_tokens;
        _mm_storeu_ps(to, r0);
        _mm_storeu_ps(to + class_size, r1);
        _mm_storeu_ps(to + 2 * class_size, r2);
        _mm_storeu_ps(to + 3 * class_size, r3);
      }
      for (; channel < last; ++channel)
        for (std::int64_t i = 0; i < 4; ++i)
          __builtin_memcpy(panel + class_place(channel, steps) * paged_panel_tokens + key + i,
                           rows[key + i] + offset + channel * 4, 4);
    }
  }
};

#include "attention/paged_kernel_body.inc"

}  // namespace

const PagedKernel& paged_kernel_avx2() { return kernel; }

}  // namespace hybridkv

#endif
