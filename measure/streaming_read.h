#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/simd_path.h"
#include "base/pool.h"

namespace hybridkv {

/// Reads so many lines of 64 bytes in that many streams, which follow each other in memory and are read side by side,
/// with the widest loads of the path. Lines left over where the streams do not divide them are not read. Returns what
/// was read or'ed, 8 bytes at a time and these bit by bit into one number, so that no load can be left out: 0 where
/// all is. Pre: streams is 1 or 8, this processor has the path.
std::uint64_t read_lines(const std::byte* from, std::int64_t lines, std::int64_t streams, SimdPath path);

/// A buffer that is read in wide loads and nothing else: what a kernel's reading is measured against.
class StreamingRead {
 public:
  /// Reserves the bytes and writes them once. Throws ResourceError where the kernel refuses. Pre: bytes >= 1.
  explicit StreamingRead(std::int64_t bytes);

  /// Bytes a second of its first `bytes`, which are read again and again, shared out evenly over `threads` threads: the
  /// best of several rounds, from one end to the other and in eight streams side by side. What fits a cache is read
  /// from there. Pre: 1 <= bytes <= those of the buffer.
  double bytes_per_second(std::int64_t bytes, std::int64_t threads) const;

 private:
  Pool buffer_;
};

}  // namespace hybridkv
