#include "measure/peak_loops.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <numeric>

#include "attention/wide_intrinsics.h"
#include "measure/peak_tiles.h"

namespace hybridkv {

namespace {

constexpr int few_sums = 12;   // with both factors they fit 16 registers
constexpr int many_sums = 24;  // and 32

/// The total of the elements of all sums.
template <class Element, class Vector, std::size_t count>
double total_of(const Vector (&sums)[count]) {
  Element elements[count * (sizeof(Vector) / sizeof(Element))];
  std::memcpy(elements, sums, sizeof sums);
  return std::accumulate(std::begin(elements), std::end(elements), 0.0);
}

/// Products and sums of vectors of so many bytes, inlined into a function that says for which instructions.
template <class Element, int bytes>
[[gnu::always_inline]] inline double multiply(std::int64_t steps) {
  typedef Element Vector __attribute__((vector_size(bytes)));
  Vector sums[few_sums] = {}, factor = Vector{} + Element{0.5}, addend = Vector{} + Element{peak_product};
  keep(factor);
  keep(addend);
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < few_sums; ++i) sums[i] = sums[i] * factor + addend;
  keep(sums);
  return total_of<Element>(sums);
}

template <class Element>
double multiply_plain(std::int64_t steps) {
  return multiply<Element, 16>(steps);
}

#if defined(__x86_64__)
__attribute__((target("avx"))) double multiply_avx(std::int64_t steps) { return multiply<double, 32>(steps); }

__attribute__((target("avx2,fma"))) double multiply_avx2(std::int64_t steps) {
  __m256 sums[few_sums] = {}, a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  keep(a);
  keep(b);
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < few_sums; ++i) sums[i] = _mm256_fmadd_ps(a, b, sums[i]);
  keep(sums);
  return total_of<float>(sums);
}

__attribute__((target("avx512f"))) double multiply_avx512(std::int64_t steps) {
  __m512 sums[many_sums] = {}, a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  keep(a);
  keep(b);
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 24
    for (int i = 0; i < many_sums; ++i) sums[i] = _mm512_fmadd_ps(a, b, sums[i]);
  keep(sums);
  return total_of<float>(sums);
}

__attribute__((target("avx512f,avx512bf16"))) double multiply_bf16(std::int64_t steps) {
  __m512 sums[many_sums] = {}, a = _mm512_castsi512_ps(_mm512_set1_epi32(bf16_halves)),
         b = _mm512_castsi512_ps(_mm512_set1_epi32(bf16_quarters));
  keep(a);
  keep(b);
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 24
    for (int i = 0; i < many_sums; ++i) {
#if defined(__clang__)
      // Clang 16 recurses without end over conversions from floats to vectors of bf16 (seen from -O1 on).
      asm("vdpbf16ps %2, %1, %0" : "+v"(sums[i]) : "v"(a), "v"(b));
#else
      sums[i] = _mm512_dpbf16_ps(sums[i], reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
#endif
    }
  keep(sums);
  return total_of<float>(sums);
}
#endif

}  // namespace

std::optional<PeakLoop> peak_loop(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp64_plain: return PeakLoop{2.0 * 2 * few_sums, &multiply_plain<double>};
    case Arithmetic::fp32_plain: return PeakLoop{2.0 * 4 * few_sums, &multiply_plain<float>};
#if defined(__x86_64__)
    case Arithmetic::fp64_avx:
      if (is_available(SimdPath::avx2)) return PeakLoop{2.0 * 4 * few_sums, &multiply_avx};
      break;
    case Arithmetic::fp32_avx2:
      if (is_available(SimdPath::avx2)) return PeakLoop{2.0 * 8 * few_sums, &multiply_avx2};
      break;
    case Arithmetic::fp32_avx512:
      if (is_available(SimdPath::avx512)) return PeakLoop{2.0 * 16 * many_sums, &multiply_avx512};
      break;
    case Arithmetic::bf16_avx512:
      if (is_available(SimdPath::avx512bf16)) return PeakLoop{2.0 * 32 * many_sums, &multiply_bf16};
      break;
#endif
    case Arithmetic::bf16_tiles: return bf16_tile_loop();
    default: break;
  }
  return std::nullopt;
}

}  // namespace hybridkv
