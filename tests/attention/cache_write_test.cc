#include "attention/cache_write.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "attention/kv_view.h"
#include "base/convert.h"
#include "base/error.h"

namespace hybridkv {
namespace {

/// Keys of the second layer of a pack of two: 3 blocks of 4 tokens in kernel blocks of 2, 2 heads of 4, bf16.
struct PackedKeys {
  std::vector<std::byte> memory = std::vector<std::byte>(3 * 4 * 2 * 8 * 2 * 2, std::byte{0xa5});
  TensorView keys;
  PackedKeys() {
    const KvViewSpec spec{.dtype = DType::bf16, .num_blocks = 3, .block_size_tokens = 4, .kernel_block_size_tokens = 2,
                          .kv_heads = 2, .head_size_k = 4, .head_size_v = 4, .pack_size = 2,
                          .page_bytes = 4 * 2 * 8 * 2 * 2};
    keys = make_view(memory, DType::bf16, key_value_layouts(spec.form, kv_layouts(spec)[1], 4, 4).key);
  }
};

TEST_CASE("edge: a token lands in its slot exactly, slot -1 writes nothing, no other byte changes") {
  PackedKeys written;
  std::array<float, 24> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + 0.25f * static_cast<float>(i);
  const std::array<std::int64_t, 3> slots{7, -1, 2};
  write_tokens(written.keys, slots, values);

  PackedKeys expected;
  for (const std::size_t token : {0u, 2u}) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t c = 0; c < 4; ++c) {
        const auto value = values[token * 8 + head * 4 + c];
        store_element(expected.keys.address({slots[token] / 2, slots[token] % 2, head, c}), DType::bf16, value);
        CHECK(load_element(written.keys.address({slots[token] / 2, slots[token] % 2, head, c}), DType::bf16) == value);
      }
    }
  }
  CHECK(written.memory == expected.memory);
}

TEST_CASE("edge: in a format with scales a head lands in its bytes, scale included") {
  PackedKeys written;  // 4 elements of bf16 are 8 bytes: 4 codes and an fp32 scale
  std::vector<Axis> axes(written.keys.layout.axes().begin(), written.keys.layout.axes().end());
  for (Axis& axis : axes)
    if (axis.name == AxisName("channel")) axis.extent *= 2;
    else axis.stride *= 2;
  const TensorView bytes = make_view(written.memory, DType::uint8, Layout(axes, written.keys.layout.offset() * 2));
  const KvCodec codec{.format = KvFormat::int8_per_token_head, .scale = 1};
  write_tokens(bytes, std::array<std::int64_t, 1>{5}, std::vector<float>{127, -127, 1, 0, 254, 0, -2, 0}, codec);
  const auto head = [&](std::int64_t index) {
    std::vector<int> read;
    for (int i = 0; i < 8; ++i) read.push_back(std::to_integer<int>(bytes.address({2, 1, index, 0})[i]));
    return read;
  };
  CHECK(head(0) == std::vector<int>{127, 129, 1, 0, 0, 0, 0x80, 0x3f});
  CHECK(head(1) == std::vector<int>{127, 0, 255, 0, 0, 0, 0, 0x40});
  CHECK(bytes.address({2, 1, 0, 0})[-1] == std::byte{0xa5});
  CHECK_THROWS_WITH_AS(write_tokens(bytes, std::array<std::int64_t, 1>{5}, std::vector<float>(16, 1.0f), codec),
                       doctest::Contains("16 values for 1 tokens of (2, 4)"), InputError);
}

TEST_CASE("edge: slots outside the cache are refused before anything is written") {
  PackedKeys keys;
  const std::vector<std::byte> before = keys.memory;
  const std::vector<float> values(16, 1.0f);
  CHECK_THROWS_WITH_AS(write_tokens(keys.keys, std::array<std::int64_t, 2>{0, 12}, values),
                       doctest::Contains("token 1 goes to slot 12 of 12"), InputError);
  CHECK_THROWS_WITH_AS(write_tokens(keys.keys, std::array<std::int64_t, 2>{0, -2}, values),
                       doctest::Contains("token 1 goes to slot -2"), InputError);
  CHECK_THROWS_WITH_AS(write_tokens(keys.keys, std::array<std::int64_t, 1>{0}, values),
                       doctest::Contains("16 values for 1 tokens of (2, 4)"), InputError);
  CHECK(keys.memory == before);
}

}  // namespace
}  // namespace hybridkv
