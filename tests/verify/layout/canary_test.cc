#include "verify/layout/canary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "layout/view.h"

namespace hybridkv {
namespace {

TEST_CASE("law: what nobody wrote is a NaN to whoever reads it") {
  std::vector<std::byte> bytes(4096);
  for (const std::int64_t offset : {0, 2, 4, 6, 4096}) {
    fill_canary(bytes, 3, offset);
    for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16}) {
      CAPTURE(to_string(dtype));
      const auto element = static_cast<std::size_t>(element_bytes(dtype));
      bool all = true;
      // Elements lie on multiples of their size, from the front of the pool.
      for (std::size_t at = static_cast<std::size_t>(-offset) % element; at + element <= bytes.size(); at += element)
        all = all && std::isnan(load_element(bytes.data() + at, dtype));
      CHECK(all);
    }
    for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2}) {
      CAPTURE(to_string(dtype));
      bool half = true;
      for (std::size_t at = 1; at < bytes.size(); at += 2)
        half = half && std::isnan(load_element(bytes.data() + at, dtype));
      CHECK(half);
    }
  }
}

TEST_CASE("law: no byte of a canary is 0, pieces fit together, and places differ") {
  std::vector<std::byte> whole(1 << 16), piece(100);
  fill_canary(whole, 1, 0);
  std::set<std::vector<std::byte>> pages;
  for (std::size_t at = 0; at + 64 <= whole.size(); at += 64)
    pages.insert(std::vector(whole.data() + at, whole.data() + at + 64));
  CHECK(pages.size() == whole.size() / 64);
  for (std::int64_t at = 0; at < 1000; at += 7) {
    fill_canary(piece, 1, at);
    for (std::int64_t i = 0; i < 100; ++i) {
      const auto byte = piece[static_cast<std::size_t>(i)];
      if (byte == std::byte{0} || byte != whole[static_cast<std::size_t>(at + i)] || byte != canary_byte(1, at + i))
        FAIL_CHECK("byte ", at + i);
    }
  }
}

}  // namespace
}  // namespace hybridkv
