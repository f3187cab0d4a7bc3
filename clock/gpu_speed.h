#pragma once

namespace hybridkv {

/// What multiplies: the element type in which a matrix product runs.
enum class ComputeType { bf16, fp8, fp4 };

/// How fast a GPU is at best, by its datasheet.
struct GpuSpeed {
  double memory_bytes_per_second = 0;
  double bf16_flops = 0;  ///< floating point operations a second of dense products, without sparsity
  double fp8_flops = 0;   ///< 0: it has no such units, and the next wider type is taken
  double fp4_flops = 0;
  double link_bytes_per_second = 0;  ///< between GPUs, one way
  double scan_head_seconds = 0;      ///< of a chunked scan of a delta rule: a token and head of 128 by 128

  /// Operations a second in the narrowest type it has that is no narrower than asked.
  double flops(ComputeType type) const {
    if (type == ComputeType::fp4 && fp4_flops > 0) return fp4_flops;
    if (type != ComputeType::bf16 && fp8_flops > 0) return fp8_flops;
    return bf16_flops;
  }
  bool operator==(const GpuSpeed&) const = default;
};

}  // namespace hybridkv
