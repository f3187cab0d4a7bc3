#include "verify/layout/cache_contents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/convert.h"

namespace hybridkv {
namespace {

std::vector<float> drawn_row(std::uint64_t key, std::size_t count) {
  std::vector<float> values(count);
  draw_values(key, values);
  return values;
}

std::vector<std::byte> kv_row(const AttentionGeometry& kept, DType source, const KvPlace& place, std::size_t bytes) {
  std::vector<std::byte> row(bytes);
  KvRows(kept, source).draw(place, row);
  return row;
}

}  // namespace

TEST_CASE("law: drawn values lie within one, over all of it, and follow from the key alone") {
  const std::vector<float> values = drawn_row(7, 4096);
  CHECK(values == drawn_row(7, 4096));
  CHECK(std::set<float>(values.begin(), values.end()).size() > 4080);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  CHECK(*least >= -1);
  CHECK(*least < -0.99);
  CHECK(*most <= 1);
  CHECK(*most > 0.99);
  double sum = 0;
  for (const float value : values) sum += value;
  CHECK(std::abs(sum / 4096) < 0.03);
  // Neighbouring keys have nothing in common.
  const std::vector<float> next = drawn_row(8, 4096);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < values.size(); ++i) equal += values[i] == next[i];
  CHECK(equal == 0);
}

TEST_CASE("golden: values are drawn by lowbias32 of the numbers that follow the key") {
  // Of 1, 2 and 3 it gives 0x688990c0, 0xd1132181 and 0x53f1e9dd; with their signs they are parts of 2^31.
  const std::vector<float> values = drawn_row(1, 3);
  CHECK(values[0] == 1753845952.0f * 0x1p-31f);
  CHECK(values[1] == -787275391.0f * 0x1p-31f);
  CHECK(values[2] == 1408362973.0f * 0x1p-31f);
  // The upper half of a key, made odd, is how far its numbers lie apart: 1 and 4. Of 4 it gives 0xd97e5ed1.
  const std::vector<float> apart = drawn_row(std::uint64_t{2} << 32 | 1, 2);
  CHECK(apart[0] == values[0]);
  CHECK(apart[1] == -646029615.0f * 0x1p-31f);
}

TEST_CASE("law: every place of a model has a row of its own") {
  const AttentionGeometry geometry{.dtype = DType::bf16};
  std::set<std::vector<std::byte>> rows;
  std::size_t count = 0;
  for (const CachedKind kind : {CachedKind::attention, CachedKind::indexer})
    for (const bool draft : {false, true})
      for (const std::int64_t layer : {0, 1, 59})
        for (const std::int64_t token : {0, 1, 2, 1 << 20})
          for (const std::int64_t head : {0, 1, 7})
            for (const bool is_value : {false, true}) {
              const ModelTensor tensor{kind, draft, layer, "kv"};
              rows.insert(kv_row(geometry, DType::bf16, {key_of(1, tensor), token, head, is_value}, 32));
              ++count;
            }
  CHECK(rows.size() == count);
  CHECK(key_of(1, {CachedKind::state, false, 3, "conv"}) != key_of(1, {CachedKind::state, false, 3, "ssm"}));
  CHECK(key_of(1, {CachedKind::state, false, 3, "conv"}) != key_of(2, {CachedKind::state, false, 3, "conv"}));
}

TEST_CASE("law: integers hold drawn values in many steps, unsigned ones without their signs") {
  for (const DType dtype : {DType::int8, DType::uint8}) {
    std::vector<float> values = drawn_row(7, 1000);
    std::vector<std::byte> stored(values.size());
    store_drawn(dtype, values, stored.data());
    // Of 201 steps from -100 to 100, or 101 from 0 on, a thousand draws leave out one or two.
    CHECK(std::set<std::byte>(stored.begin(), stored.end()).size() > (dtype == DType::int8 ? 190 : 95));
    CHECK(std::count(stored.begin(), stored.end(), std::byte{0}) < 50);
    const AttentionGeometry geometry{.dtype = dtype};
    CHECK(drawn_scale(geometry) == 100);
    KvRows rows(geometry, dtype);
    const std::span<const float> wide = rows.values({5, 3, 1, false}, 16);
    std::vector<std::byte> row = kv_row(geometry, dtype, {5, 3, 1, false}, 16), again(16);
    store_elements(again.data(), dtype, wide);
    CHECK(row == again);
  }
}

TEST_CASE("law: what a cache of another type keeps is the source's value rounded once more, with its error") {
  const AttentionGeometry in_bf16{.dtype = DType::bf16}, in_fp8{.dtype = DType::fp8_e4m3};
  const KvPlace place{5, 3, 1, true};
  const std::vector<std::byte> source = kv_row(in_bf16, DType::bf16, place, 512);
  std::vector<std::byte> kept(256);
  KvRows rows(in_fp8, DType::bf16);
  rows.draw(place, kept);
  std::vector<float> first(256), rounded(256), found(256);
  load_elements(source.data(), DType::bf16, first);
  rounded = first;
  round_elements(DType::fp8_e4m3, rounded);
  load_elements(kept.data(), DType::fp8_e4m3, found);
  CHECK(found == rounded);
  double largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) largest = std::max(largest, double{std::abs(first[i] - rounded[i])});
  CHECK(rows.largest_error() == largest);
  CHECK(largest > 0);
  KvRows same(in_bf16, DType::bf16);
  std::vector<std::byte> again(512);
  same.draw(place, again);
  CHECK(same.largest_error() == 0);
}

TEST_CASE("law: a format with a codec holds the drawn values, one without any bytes") {
  const AttentionGeometry coded{.dtype = DType::uint8, .format = KvFormat::int8_per_token_head};
  const KvPlace place{5, 3, 1, true};
  const std::vector<std::byte> row = kv_row(coded, DType::uint8, place, 36);
  std::vector<float> read(32);
  decode_row({.format = coded.format}, DType::uint8, row.data(), read);
  KvRows rows(coded, DType::uint8);
  const std::span<const float> drawn = rows.values(place, 32);
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(std::abs(read[i] - drawn[i]) <= 1.0 / 254);
  const AttentionGeometry raw{.dtype = DType::uint8, .format = KvFormat::turboquant_4bit_nc};
  CHECK(kv_row(raw, DType::uint8, place, 64) != kv_row(raw, DType::uint8, {5, 4, 1, true}, 64));
}

TEST_CASE("edge: names of tensors") {
  CHECK(ModelTensor{CachedKind::attention, false, 3, "kv"}.text() == "layer 3 kv");
  CHECK(ModelTensor{CachedKind::attention, true, 0, "kv"}.text() == "draft layer 0 kv");
  CHECK(ModelTensor{CachedKind::indexer, false, 3, "kv"}.text() == "layer 3 indexer");
}

}  // namespace hybridkv
