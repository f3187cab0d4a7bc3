#include "attention/kv_codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "attention/kv_codec_ref.h"
#include "base/random.h"

namespace hybridkv {
namespace {

/// A head of that many K channels, in a layer that has the format.
AttentionSpec layer_of(KvFormat format, std::int64_t channels) {
  if (format == KvFormat::fp8_ds_mla) return {AttentionKind::mla, 8, 1, 576, 512, 0};
  return {AttentionKind::full, 8, 2, channels, channels, 0};
}

KvCodec codec_of(KvFormat format, float scale = 1) {
  KvCodec codec;
  codec.format = format;
  codec.scale = scale;
  return codec;
}

std::vector<std::byte> encoded(const KvCodec& codec, std::span<const float> values, std::int64_t bytes) {
  std::vector<std::byte> row(static_cast<std::size_t>(bytes), std::byte{0xee});
  encode_row(codec, DType::uint8, values, row.data());
  return row;
}

std::vector<float> decoded(const KvCodec& codec, const std::vector<std::byte>& row, std::size_t channels) {
  std::vector<float> values(channels);
  decode_row(codec, DType::uint8, row.data(), values);
  return values;
}

/// Largest step between neighbouring codes over the largest value that a scale covers.
double step_of(KvFormat format) {
  switch (format) {
    case KvFormat::int8_per_token_head: return 1.0 / 127;
    case KvFormat::int4_per_token_head: return 1.0 / 7;
    case KvFormat::nvfp4: return 2.0 / 6 * 1.07;  // the scale is rounded as well, by a sixteenth at most
    default: return 32.0 / 448;
  }
}

TEST_CASE("law: every codec fills the bytes of its format and gives values back to half a step") {
  for (const KvFormat format : all_kv_formats) {
    if (!has_codec(format)) continue;
    CAPTURE(to_string(format));
    for (const std::int64_t size : {16, 64, 256})
      for (const bool is_value : {false, true}) {
        const AttentionSpec layer = layer_of(format, size);
        const HeadBytes bytes = head_bytes(layer, format);
        const std::int64_t stored = is_value ? bytes.value : bytes.key;
        const KvCodec codec = codec_of(format);
        const auto channels = static_cast<std::size_t>(is_value ? layer.head_size_v : layer.head_size_k);
        CHECK(decoded_channels(codec, stored) == static_cast<std::int64_t>(channels));
        CHECK(stored_bytes(codec, DType::uint8, static_cast<std::int64_t>(channels)) == stored);
        std::vector<float> values(channels);
        for (std::size_t i = 0; i < channels; ++i) values[i] = 3 * unit_value(mix(static_cast<std::uint64_t>(size), i));
        const std::vector<std::byte> row = encoded(codec, values, stored);
        const std::vector<float> back = decoded(codec, row, channels);
        double error = 0;
        for (std::size_t i = 0; i < channels; ++i) error = std::max(error, std::abs(double{back[i]} - values[i]));
        CHECK(error <= 3 * step_of(format) / 2 * 1.001 + (format == KvFormat::nvfp4 ? 3 * 0.0625 : 0));
        CHECK(error > 0);
        // What was read can be stored again without another loss.
        CHECK(decoded(codec, encoded(codec, back, stored), channels) == back);
        const std::vector<float> zeros(channels, 0.0f);
        CHECK(decoded(codec, encoded(codec, zeros, stored), channels) == zeros);
      }
  }
}

std::vector<int> as_ints(const std::vector<std::byte>& row) {
  std::vector<int> values;
  for (const std::byte byte : row) values.push_back(std::to_integer<int>(byte));
  return values;
}

TEST_CASE("golden: the bytes of each format by hand") {
  // int8: codes, then 1.0f = 0x3f800000, little-endian.
  CHECK(as_ints(encoded(codec_of(KvFormat::int8_per_token_head), std::vector<float>{127, -127, 3, -0.4f}, 8)) ==
        std::vector<int>{127, 129, 3, 0, 0, 0, 0x80, 0x3f});
  // e4m3: 448 = 0x7e, -1 = 0xb8.
  CHECK(as_ints(encoded(codec_of(KvFormat::fp8_per_token_head), std::vector<float>{448, -1}, 6)) ==
        std::vector<int>{0x7e, 0xb8, 0, 0, 0x80, 0x3f});
  // int4: 7 and -7 (two's complement 9) in one byte, the even channel below; 1 and -1 in the next.
  CHECK(as_ints(encoded(codec_of(KvFormat::int4_per_token_head), std::vector<float>{7, -7, 1, -1}, 6)) ==
        std::vector<int>{0x97, 0xf1, 0, 0, 0x80, 0x3f});
  // nvfp4: e2m1 codes of 6, -6, 0.5, 3, 5 (a tie between 4 and 6: the even code), 2.5 (2 or 3: 2), rest 0; scale 1 is
  // 0x38.
  std::vector<float> group(16, 0.0f);
  std::copy_n(std::vector<float>{6, -6, 0.5f, 3, 5, 2.5f}.begin(), 6, group.begin());
  CHECK(as_ints(encoded(codec_of(KvFormat::nvfp4), group, 9)) ==
        std::vector<int>{0xf7, 0x51, 0x46, 0, 0, 0, 0, 0, 0x38});
  // ds_mla: 512 codes, a scale for every 128, then bf16: 1.0 = 0x3f80.
  std::vector<float> latent(576, 0.0f);
  latent[0] = 448, latent[128] = 896, latent[512] = 1;
  const std::vector<int> bytes = as_ints(encoded(codec_of(KvFormat::fp8_ds_mla), latent, 656));
  CHECK(bytes[0] == 0x7e);
  CHECK(bytes[128] == 0x7e);
  CHECK(std::vector<int>(bytes.begin() + 512, bytes.begin() + 520) ==
        std::vector<int>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
  CHECK(std::vector<int>(bytes.begin() + 528, bytes.begin() + 530) == std::vector<int>{0x80, 0x3f});
}

TEST_CASE("law: rows are read as the reference reads each channel, whatever the bytes") {
  const auto check = [](const KvCodec& codec, DType dtype, std::int64_t channels) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      std::vector<std::byte> row(static_cast<std::size_t>(stored_bytes(codec, dtype, channels)));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(mix(seed, i));
      std::vector<float> values(static_cast<std::size_t>(channels));
      decode_row(codec, dtype, row.data(), values);
      for (std::int64_t i = 0; i < channels; ++i) {
        const double expected = decoded_value(codec, dtype, row.data(), channels, i);
        const float value = values[static_cast<std::size_t>(i)];
        CAPTURE(i);
        if (std::isnan(expected)) CHECK(std::isnan(value));
        else if (std::abs(expected) < 1e30)  // beyond, a product on the way may not fit fp32
          CHECK(std::abs(value - expected) <= 1.2e-7 * std::abs(expected) + 1e-44);
      }
    }
  };
  for (const KvFormat format : all_kv_formats) {
    if (!has_codec(format)) continue;
    CAPTURE(to_string(format));
    std::vector<std::int64_t> sizes{16, 96};
    if (format == KvFormat::fp8_ds_mla) sizes = {512, 576};
    for (const float scale : {1.0f, 0.25f})
      for (const std::int64_t channels : sizes)
        check(codec_of(format, scale), DType::uint8, channels);
  }
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2, DType::int8, DType::bf16})
    for (const float scale : {1.0f, 0.25f}) check({.format = {}, .scale = scale}, dtype, 24);
}

TEST_CASE("golden: where the scales of a head lie") {
  CHECK(scale_bytes_of(KvFormat::int8_per_token_head, 260) == ScaleBytes{256, 4});
  CHECK(scale_bytes_of(KvFormat::fp8_per_token_head, 132) == ScaleBytes{128, 4});
  CHECK(scale_bytes_of(KvFormat::int4_per_token_head, 132) == ScaleBytes{128, 4});
  CHECK(scale_bytes_of(KvFormat::nvfp4, 144) == ScaleBytes{128, 16});
  CHECK(scale_bytes_of(KvFormat::fp8_ds_mla, 656) == ScaleBytes{512, 16});
  CHECK(scale_bytes_of(KvFormat::fp8_ds_mla, 528) == ScaleBytes{512, 16});
}

TEST_CASE("golden: a scale of the tensor divides on the way in and multiplies on the way out") {
  const KvCodec codec{.format = {}, .scale = 0.5f};
  CHECK(codec.has_scales());
  CHECK(!KvCodec{}.has_scales());
  const std::vector<float> values{1, -2, 100};
  std::vector<std::byte> row(3);
  encode_row(codec, DType::int8, values, row.data());
  CHECK(as_ints(row) == std::vector<int>{2, 252, 127});  // 200 saturates
  std::vector<float> back(3);
  decode_row(codec, DType::int8, row.data(), back);
  CHECK(back == std::vector<float>{1, -2, 63.5f});
  // The global scale of nvfp4: 12 = 6 * 1 * 2 of the tensor, so the group's own scale stays 1 = 0x38.
  std::vector<float> group(16, 0.0f);
  group[1] = 12;
  CHECK(as_ints(encoded(codec_of(KvFormat::nvfp4, 2), group, 9)) ==
        std::vector<int>{0x70, 0, 0, 0, 0, 0, 0, 0, 0x38});
  CHECK(decoded(codec_of(KvFormat::nvfp4, 2), encoded(codec_of(KvFormat::nvfp4, 2), group, 9), 16) == group);
}

TEST_CASE("edge: the turboquant formats and that of latents in fp4 have a layout and no codec") {
  for (const KvFormat format : {KvFormat::turboquant_3bit_nc, KvFormat::turboquant_4bit_nc, KvFormat::turboquant_k8v4,
                                KvFormat::nvfp4_ds_mla}) {
    CHECK(!has_codec(format));
    CHECK_THROWS_AS(decoded_channels(codec_of(format), 100), std::logic_error);
  }
}

}  // namespace
}  // namespace hybridkv
