#pragma once

#include <cstdint>

#include "base/pool.h"

namespace hybridkv {

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
