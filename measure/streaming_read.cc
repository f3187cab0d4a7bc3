#include "measure/streaming_read.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "attention/wide_intrinsics.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "measure/best_rate.h"

namespace hybridkv {

namespace {

constexpr std::int64_t line_bytes = 64;
/// One stream is what processors fetch ahead by themselves; of several they have more on its way from memory (Sapphire
/// Rapids: 13 against 17 GB/s).
constexpr std::int64_t many_streams = 8;

// So many bytes of each of the streams, which follow each other in memory, or'ed: so no load can be left out, and none
// waits for a sum. 0 where all bytes are.
#if defined(__x86_64__)
template <int streams>
__attribute__((target("avx512f"))) std::uint64_t read_avx512(const std::byte* from, std::int64_t bytes) {
  __m512i seen[streams > 1 ? streams : 4];
  constexpr int width = sizeof seen / sizeof seen[0], lines = width / streams;
#pragma GCC unroll 8
  for (int i = 0; i < width; ++i) seen[i] = _mm512_setzero_si512();
  std::int64_t at = 0;
  for (; at + lines * line_bytes <= bytes; at += lines * line_bytes)
#pragma GCC unroll 8
    for (int i = 0; i < width; ++i)
      seen[i] = _mm512_or_si512(seen[i], _mm512_loadu_si512(from + i / lines * bytes + at + i % lines * line_bytes));
  for (; at < bytes; at += line_bytes) seen[0] = _mm512_or_si512(seen[0], _mm512_loadu_si512(from + at));
  for (int i = 1; i < width; ++i) seen[0] = _mm512_or_si512(seen[0], seen[i]);
  return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(seen[0]));
}

template <int streams>
__attribute__((target("avx2"))) std::uint64_t read_avx2(const std::byte* from, std::int64_t bytes) {
  __m256i seen[2 * streams > 8 ? 8 : 2 * streams];
  constexpr int width = sizeof seen / sizeof seen[0];
#pragma GCC unroll 8
  for (int i = 0; i < width; ++i) seen[i] = _mm256_setzero_si256();
  for (std::int64_t at = 0; at < bytes; at += line_bytes)
#pragma GCC unroll 16
    for (int i = 0; i < 2 * streams; ++i)
      seen[i % width] = _mm256_or_si256(
          seen[i % width],
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i / 2 * bytes + at + i % 2 * 32)));
  for (int i = 1; i < width; ++i) seen[0] = _mm256_or_si256(seen[0], seen[i]);
  std::uint64_t parts[4];
  std::memcpy(parts, &seen[0], sizeof parts);
  return parts[0] | parts[1] | parts[2] | parts[3];
}
#endif

template <int streams>
std::uint64_t read_plain(const std::byte* from, std::int64_t bytes) {
  typedef std::uint64_t Vector __attribute__((vector_size(16)));
  Vector seen[4] = {};
  for (std::int64_t at = 0; at < bytes; at += line_bytes)
#pragma GCC unroll 8
    for (int stream = 0; stream < streams; ++stream)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        Vector part;
        std::memcpy(&part, from + stream * bytes + at + 16 * i, sizeof part);
        seen[i] |= part;
      }
  const Vector all = seen[0] | seen[1] | seen[2] | seen[3];
  return all[0] | all[1];
}

template <int streams>
std::uint64_t read_streams(const std::byte* from, std::int64_t bytes, [[maybe_unused]] SimdPath path) {
#if defined(__x86_64__)
  if (path >= SimdPath::avx512) return read_avx512<streams>(from, bytes);
  if (path == SimdPath::avx2) return read_avx2<streams>(from, bytes);
#endif
  return read_plain<streams>(from, bytes);
}

}  // namespace

std::uint64_t read_lines(const std::byte* from, std::int64_t lines, std::int64_t streams, SimdPath path) {
  expects(streams == 1 || streams == many_streams, "so many streams are compiled");
  const std::int64_t bytes = lines / streams * line_bytes;
  return streams == 1 ? read_streams<1>(from, bytes, path) : read_streams<many_streams>(from, bytes, path);
}

StreamingRead::StreamingRead(std::int64_t bytes) : buffer_(round_up(bytes, 4096)) {
  advise_huge_pages(buffer_.bytes());
  std::memset(buffer_.bytes().data(), 0, buffer_.bytes().size());
}

double StreamingRead::bytes_per_second(std::int64_t bytes, std::int64_t threads) const {
  const std::int64_t lines = ceil_div(bytes, line_bytes);
  expects(bytes >= 1 && lines * line_bytes <= buffer_.size_bytes(), "that much is in the buffer");
  // What is long is read piece after piece, so that a round is short; few bytes are read again and again, so that it is
  // not too short.
  constexpr std::int64_t shortest_round = (8 << 20) / line_bytes, longest_round = (32 << 20) / line_bytes;
  constexpr int rounds = 24;
  const std::int64_t piece = std::min(lines, longest_round), pieces = lines / piece;
  const std::int64_t passes = ceil_div(shortest_round, piece);
  struct Reader {
    std::int64_t round = 0;
    std::uint64_t seen = 0;
  };
  std::vector<Reader> readers(static_cast<std::size_t>(threads));
  const SimdPath path = best_simd_path();
  double best = 0;
  for (const std::int64_t streams : {std::int64_t{1}, many_streams}) {
    const double rate = best_rate(threads, rounds, [&](std::int64_t thread, std::int64_t all) {
      Reader& reader = readers[thread];
      const std::int64_t first = piece * thread / all, count = piece * (thread + 1) / all - first;
      const std::byte* from = buffer_.bytes().data() + (reader.round++ % pieces * piece + first) * line_bytes;
      for (std::int64_t pass = 0; pass < passes; ++pass)
        reader.seen |= read_lines(from, count, streams, path);
      return static_cast<double>(passes * (count / streams * streams) * line_bytes);
    });
    best = std::max(best, rate);
  }
  expects(std::all_of(readers.begin(), readers.end(), [](const Reader& reader) { return reader.seen == 0; }),
          "the buffer holds zeros");
  return best;
}

}  // namespace hybridkv
