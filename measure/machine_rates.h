#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/pool.h"

namespace hybridkv {

/// Floating-point operations a second of OpenBLAS.
struct SgemmRate {
  double flops_per_second = 0;
  std::string kernels;  ///< what OpenBLAS calls the processor it has chosen kernels for: "SkylakeX", "Haswell"
};

/// Rate of an sgemm of 2048 x 2048 x 2048 with OpenBLAS, the best of `runs`, on `threads` threads: what a kernel's
/// arithmetic is measured against. OpenBLAS is loaded at run time; nothing where the machine has none.
std::optional<SgemmRate> sgemm_rate(std::int64_t threads, int runs);

/// A buffer that is read from one end to the other, in plain wide loads: what a kernel's reading is measured against.
class StreamingRead {
 public:
  /// Reserves the bytes and writes them once. Throws ResourceError where the kernel refuses. Pre: bytes >= 1.
  explicit StreamingRead(std::int64_t bytes);

  /// Bytes a second, the best of `runs`, the buffer shared out evenly over `threads` threads.
  double bytes_per_second(std::int64_t threads, int runs) const;

 private:
  Pool buffer_;
};

}  // namespace hybridkv
