#include "attention/kv_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/contract.h"
#include "base/convert.h"
#include "layout/view.h"

namespace hybridkv {

namespace {

using namespace kv_format;

constexpr float largest_int8 = 127, largest_int4 = 7, largest_e4m3 = 448;
constexpr std::array<float, 8> e2m1_values{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

[[noreturn]] void refuse() { throw std::logic_error("a format whose values nothing here can compute"); }

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

float load_scale(const std::byte* from) { return load_element(from, DType::fp32); }

/// value / scale, 0 where all values are 0.
float scaled(float value, float scale) { return scale > 0 ? value / scale : 0; }

// Codes of half a byte, two to a byte, the even channel in the lower half.
void store_nibble(std::byte* codes, std::size_t channel, std::uint8_t code) {
  std::byte& both = codes[channel / 2];
  both = channel % 2 == 0 ? std::byte(code) : both | std::byte(code) << 4;
}
std::uint8_t load_nibble(const std::byte* codes, std::size_t channel) {
  const auto both = static_cast<std::uint8_t>(codes[channel / 2]);
  return channel % 2 == 0 ? both & 15 : both >> 4;
}

std::uint8_t encode_e2m1(float value) {
  const float magnitude = std::abs(value);
  std::size_t code = 0;
  for (std::size_t i = 1; i < e2m1_values.size(); ++i) {
    const float middle = (e2m1_values[i - 1] + e2m1_values[i]) / 2;
    if (magnitude > middle || (magnitude == middle && i % 2 == 0)) code = i;  // ties to the even code
  }
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 8u : 0u));
}
float decode_e2m1(std::uint8_t code) { return (code & 8 ? -1 : 1) * e2m1_values[code & 7]; }

/// Elements of one byte with an fp32 scale behind them; `stride`: channels of a scale, scales behind all elements.
void encode_scaled_bytes(DType dtype, float largest_code, std::span<const float> values, std::size_t stride,
                         std::byte* to) {
  std::byte* scales = to + values.size();
  for (std::size_t first = 0; first < values.size(); first += stride, scales += scale_bytes) {
    const std::span<const float> part = values.subspan(first, std::min(stride, values.size() - first));
    const float scale = largest_magnitude(part) / largest_code;
    store_element(scales, DType::fp32, scale);
    for (std::size_t i = 0; i < part.size(); ++i) store_element(to + first + i, dtype, scaled(part[i], scale));
  }
}
void decode_scaled_bytes(DType dtype, const std::byte* from, std::size_t stride, std::span<float> values) {
  load_elements(from, dtype, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= load_scale(from + values.size() + i / stride * scale_bytes);
}

void encode_format(KvFormat format, std::span<const float> values, std::byte* to) {
  const std::size_t channels = values.size();
  switch (format) {
    case KvFormat::int8_per_token_head:
      return encode_scaled_bytes(DType::int8, largest_int8, values, channels, to);
    case KvFormat::fp8_per_token_head:
      return encode_scaled_bytes(DType::fp8_e4m3, largest_e4m3, values, channels, to);
    case KvFormat::int4_per_token_head: {
      const float scale = largest_magnitude(values) / largest_int4;
      store_element(to + channels / 2, DType::fp32, scale);
      for (std::size_t i = 0; i < channels; ++i)
        store_nibble(to, i, static_cast<std::uint8_t>(narrow_to_integer<std::int8_t>(scaled(values[i], scale)) & 15));
      return;
    }
    case KvFormat::nvfp4:
      for (std::size_t group = 0; group < channels / nvfp4_group; ++group) {
        const std::span<const float> part = values.subspan(group * nvfp4_group, nvfp4_group);
        std::byte* const stored = to + channels / 2 + group;
        store_element(stored, DType::fp8_e4m3, largest_magnitude(part) / largest_e2m1);
        const float scale = load_element(stored, DType::fp8_e4m3);
        for (std::size_t i = 0; i < part.size(); ++i)
          store_nibble(to, group * nvfp4_group + i, encode_e2m1(scaled(part[i], scale)));
      }
      return;
    case KvFormat::fp8_ds_mla:
      encode_scaled_bytes(DType::fp8_e4m3, largest_e4m3, values.first(latent_channels), latent_group, to);
      return store_elements(to + latent_bytes, DType::bf16, values.subspan(latent_channels));
    default: refuse();
  }
}

void decode_format(KvFormat format, const std::byte* from, std::span<float> values) {
  const std::size_t channels = values.size();
  switch (format) {
    case KvFormat::int8_per_token_head: return decode_scaled_bytes(DType::int8, from, channels, values);
    case KvFormat::fp8_per_token_head: return decode_scaled_bytes(DType::fp8_e4m3, from, channels, values);
    case KvFormat::int4_per_token_head: {
      const float scale = load_scale(from + channels / 2);
      for (std::size_t i = 0; i < channels; ++i)
        values[i] = static_cast<float>((load_nibble(from, i) ^ 8) - 8) * scale;
      return;
    }
    case KvFormat::nvfp4:
      for (std::size_t i = 0; i < channels; ++i)
        values[i] = decode_e2m1(load_nibble(from, i)) *
                    load_element(from + channels / 2 + i / nvfp4_group, DType::fp8_e4m3);
      return;
    case KvFormat::fp8_ds_mla:
      decode_scaled_bytes(DType::fp8_e4m3, from, latent_group, values.first(latent_channels));
      return load_elements(from + latent_bytes, DType::bf16, values.subspan(latent_channels));
    default: refuse();
  }
}

}  // namespace

bool has_codec(KvFormat format) { return !is_side_by_side(format) && format != KvFormat::nvfp4_ds_mla; }

std::int64_t decoded_channels(const KvCodec& codec, std::int64_t stored) {
  if (!codec.format) return stored;
  switch (*codec.format) {
    case KvFormat::int8_per_token_head:
    case KvFormat::fp8_per_token_head: return stored - scale_bytes;
    case KvFormat::int4_per_token_head: return 2 * (stored - scale_bytes);
    case KvFormat::nvfp4: return stored * nvfp4_group / (nvfp4_group / 2 + 1);
    case KvFormat::fp8_ds_mla: return latent_channels + (stored > latent_bytes ? rope_channels : 0);
    default: refuse();
  }
}

std::int64_t stored_bytes(const KvCodec& codec, DType dtype, std::int64_t channels) {
  return codec.format ? row_bytes(*codec.format, channels) : channels * element_bytes(dtype);
}

ScaleBytes scale_bytes_of(KvFormat format, std::int64_t stored) {
  if (format == KvFormat::fp8_ds_mla) return {latent_channels, latent_bytes - latent_channels};
  const std::int64_t channels = decoded_channels({.format = format, .scale = 1}, stored);
  const std::int64_t count = format == KvFormat::nvfp4 ? channels / nvfp4_group : scale_bytes;
  return {stored - count, count};
}

void decode_row(const KvCodec& codec, DType dtype, const std::byte* from, std::span<float> values) {
  contract([&] { return !codec.format || has_codec(*codec.format); }, "values are known of a format with a codec");
  if (codec.format) decode_format(*codec.format, from, values);
  else load_elements(from, dtype, values);
  if (codec.scale == 1) return;
  for (float& value : values) value *= codec.scale;
}

void encode_row(const KvCodec& codec, DType dtype, std::span<const float> values, std::byte* to) {
  contract([&] { return !codec.format || has_codec(*codec.format); }, "values are kept in a format with a codec");
  std::vector<float> divided;
  if (codec.scale != 1) {
    for (const float value : values) divided.push_back(value / codec.scale);
    values = divided;
  }
  if (codec.format) encode_format(*codec.format, values, to);
  else store_elements(to, dtype, values);
}

}  // namespace hybridkv
