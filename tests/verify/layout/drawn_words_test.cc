#include "verify/layout/drawn_words.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "base/random.h"

namespace hybridkv {
namespace {

TEST_CASE("law: words are those of their keys, however many are drawn at once") {
  for (const std::uint64_t always : {std::uint64_t{0}, std::uint64_t{0x7f81}})
    for (std::size_t size = 0; size < 200; ++size) {
      CAPTURE(size);
      const std::uint64_t key = ~std::uint64_t{0} - 7;  // keys begin again at 0 on the way
      std::vector<std::byte> drawn(size), expected(size);
      draw_words(key, always, drawn);
      for (std::size_t i = 0; i < size; ++i)
        expected[i] = static_cast<std::byte>((mix(key + i / 8) | always) >> (i % 8 * 8) & 0xff);
      CHECK(drawn == expected);
    }
}

TEST_CASE("law: values are those of their keys to the bit, however many are drawn at once") {
  for (std::size_t count = 0; count < 100; ++count) {
    CAPTURE(count);
    std::vector<float> drawn(count), expected;
    draw_unit_values(count << 40, drawn);
    for (std::size_t i = 0; i < count; ++i) expected.push_back(unit_value((count << 40) + i));
    CHECK(std::memcmp(drawn.data(), expected.data(), count * sizeof(float)) == 0);
  }
}

}  // namespace
}  // namespace hybridkv
