#include "attention/kv_codec_ref.h"

#include <cmath>
#include <stdexcept>

#include "layout/view.h"

namespace hybridkv {

namespace {

double element(const std::byte* row, std::int64_t byte, DType dtype) { return load_element(row + byte, dtype); }

/// Four bits of a row, counted from its front, the lower half of a byte first.
int nibble(const std::byte* row, std::int64_t number) {
  return std::to_integer<int>(row[number / 2]) >> 4 * (number % 2) & 15;
}

/// Sign, two bits of exponent with bias 1, one bit of mantissa.
double e2m1(int code) {
  const int exponent = code >> 1 & 3, mantissa = code & 1;
  const double magnitude = exponent == 0 ? mantissa / 2.0 : std::ldexp(1 + mantissa / 2.0, exponent - 1);
  return code >= 8 ? -magnitude : magnitude;
}

double in_format(KvFormat format, const std::byte* row, std::int64_t channels, std::int64_t channel) {
  switch (format) {
    case KvFormat::int8_per_token_head: return element(row, channel, DType::int8) * element(row, channels, DType::fp32);
    case KvFormat::fp8_per_token_head:
      return element(row, channel, DType::fp8_e4m3) * element(row, channels, DType::fp32);
    case KvFormat::int4_per_token_head: {
      const int code = nibble(row, channel);
      return (code < 8 ? code : code - 16) * element(row, channels / 2, DType::fp32);
    }
    case KvFormat::nvfp4:
      return e2m1(nibble(row, channel)) * element(row, channels / 2 + channel / 16, DType::fp8_e4m3);
    case KvFormat::fp8_ds_mla:
      if (channel >= 512) return element(row, 528 + 2 * (channel - 512), DType::bf16);
      return element(row, channel, DType::fp8_e4m3) * element(row, 512 + 4 * (channel / 128), DType::fp32);
    default: throw std::logic_error("a format whose values nothing here can compute");
  }
}

}  // namespace

double decoded_value(const KvCodec& codec, DType dtype, const std::byte* row, std::int64_t channels,
                     std::int64_t channel) {
  const double stored = codec.format ? in_format(*codec.format, row, channels, channel)
                                     : element(row, channel * element_bytes(dtype), dtype);
  return stored * codec.scale;
}

}  // namespace hybridkv
