#include "measure/machine_rates.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attention/simd_path.h"
#include "base/error.h"
#include "base/parallel.h"

#if defined(__x86_64__)
// GCC 12 takes the "undefined" operands of its own AVX-512 headers for uses of variables without a value.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

namespace hybridkv {

namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The three functions of OpenBLAS that are needed. Never unloaded: its threads may still run.
struct OpenBlas {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
                const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  void (*set_num_threads)(int) = nullptr;
  const char* (*corename)() = nullptr;

  static std::optional<OpenBlas> load() {
    for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
      void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      OpenBlas blas;
      const auto find = [&](const char* symbol, auto& function) {
        void* address = dlsym(library, symbol);
        std::memcpy(&function, &address, sizeof address);
        return address != nullptr;
      };
      if (find("cblas_sgemm", blas.sgemm) && find("openblas_set_num_threads", blas.set_num_threads) &&
          find("openblas_get_corename", blas.corename))
        return blas;
    }
    return std::nullopt;
  }
};

// Sums, so that no load can be left out.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) float read_avx512(const float* from, std::int64_t count) {
  __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
  for (std::int64_t i = 0; i < count; i += 64)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] = _mm512_add_ps(sums[j], _mm512_loadu_ps(from + i + 16 * j));
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

__attribute__((target("avx2"))) float read_avx2(const float* from, std::int64_t count) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::int64_t i = 0; i < count; i += 32)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] = _mm256_add_ps(sums[j], _mm256_loadu_ps(from + i + 8 * j));
  float lanes[8], sum = 0;
  _mm256_storeu_ps(lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
  for (const float lane : lanes) sum += lane;
  return sum;
}
#endif

float read_plain(const float* from, std::int64_t count) {
  float sums[16] = {};
  for (std::int64_t i = 0; i < count; i += 16)
    for (int j = 0; j < 16; ++j) sums[j] += from[i + j];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

/// Pre: count is a multiple of 64.
float read_all(const float* from, std::int64_t count) {
#if defined(__x86_64__)
  static const SimdPath path = best_simd_path();
  if (path == SimdPath::avx512 || path == SimdPath::avx512bf16) return read_avx512(from, count);
  if (path == SimdPath::avx2) return read_avx2(from, count);
#endif
  return read_plain(from, count);
}

}  // namespace

std::optional<SgemmRate> sgemm_rate(std::int64_t threads, int runs) {
  static const std::optional<OpenBlas> blas = OpenBlas::load();
  if (!blas) return std::nullopt;
  constexpr int row_major = 101, as_is = 111, n = 2048;
  const std::vector<float> a(n * n, 1), b(n * n, 1);
  std::vector<float> c(n * n);
  blas->set_num_threads(static_cast<int>(threads));
  double best = 1e300;
  for (int run = 0; run < runs; ++run)
    best = std::min(best, seconds_of([&] {
                      blas->sgemm(row_major, as_is, as_is, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
                    }));
  return SgemmRate{2.0 * n * n * n / best, blas->corename()};
}

StreamingRead::StreamingRead(std::int64_t bytes) : buffer_((bytes + 4095) / 4096 * 4096) {
  advise_huge_pages(buffer_.bytes());
  std::memset(buffer_.bytes().data(), 0, buffer_.bytes().size());
}

double StreamingRead::bytes_per_second(std::int64_t threads, int runs) const {
  constexpr std::int64_t line = 64;  // floats that every way of reading takes at a time
  const std::int64_t floats = buffer_.size_bytes() / 4, part = floats / line / threads * line;
  const auto* from = reinterpret_cast<const float*>(buffer_.bytes().data());
  std::vector<float> sums(threads);
  double best = 1e300;
  for (int run = 0; run < runs; ++run)
    best = std::min(best, seconds_of([&] {
                      parallel_for(threads, threads, [&](std::size_t i, std::size_t) {
                        const auto first = static_cast<std::int64_t>(i) * part;
                        const bool last = static_cast<std::int64_t>(i) + 1 == threads;
                        sums[i] += read_all(from + first, last ? floats - first : part);
                      });
                    }));
  // Every element is 0: a sum that is not would mean that something else was read.
  expects(std::all_of(sums.begin(), sums.end(), [](float sum) { return sum == 0; }), "the buffer holds zeros");
  return static_cast<double>(floats * 4) / best;
}

}  // namespace hybridkv
