#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/kv_codec.h"

namespace hybridkv {

/// The value of one channel of a head by the formulas of KvCodec, in float64 and with arithmetic of its own for the
/// places of codes and scales: what decode_row is compared with, and what the reference attention reads.
/// `row`: the stored elements of the head, `channels` of values. Pre: the format has a codec.
/// Example: nvfp4, channel 17 of 32: the upper half of byte 8, times the e4m3 in byte 17, times the tensor's scale.
double decoded_value(const KvCodec& codec, DType dtype, const std::byte* row, std::int64_t channels,
                     std::int64_t channel);

}  // namespace hybridkv
