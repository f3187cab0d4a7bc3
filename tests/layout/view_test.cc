#include "layout/view.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

namespace hybridkv {
namespace {

TEST_CASE("law: a view writes the element its layout names and no other byte") {
  for (const DType dtype : all_dtypes) {
    CAPTURE(to_string(dtype));
    const std::int64_t width = element_bytes(dtype);
    std::vector<std::byte> memory(static_cast<std::size_t>(11 * width), std::byte{0xa5});
    const TensorView view = make_view(memory, dtype, Layout({{"row", 2, 5}, {"column", 3, 2}}, 1));
    store_element(view.address({1, 2}), dtype, 3.0f);
    CHECK(load_element(view.address({1, 2}), dtype) == 3.0f);
    CHECK(view.address({1, 2}) == memory.data() + 10 * width);
    for (std::int64_t i = 0; i < 10 * width; ++i) REQUIRE(memory[static_cast<std::size_t>(i)] == std::byte{0xa5});
  }
}

TEST_CASE("edge: a view may end with its memory but not one element later") {
  std::vector<std::byte> memory(24);
  CHECK_NOTHROW(make_view(memory, DType::fp32, Layout({{"x", 6, 1}})));
  CHECK_THROWS_AS(make_view(memory, DType::fp32, Layout({{"x", 7, 1}})), std::logic_error);
  CHECK_THROWS_AS(make_view(memory, DType::fp32, Layout({{"x", 6, 1}}, 1)), std::logic_error);
  CHECK_THROWS_AS(make_view(std::span(memory).first(23), DType::fp32, Layout({{"x", 6, 1}})), std::logic_error);
}

TEST_CASE("edge: a view without elements fits any memory") {
  CHECK_NOTHROW(make_view({}, DType::fp32, Layout({{"x", 0, 1}, {"y", 9, 1000}}, 77)));
}

TEST_CASE("edge: offsets whose bytes do not fit 64 bits are refused, not wrapped") {
  std::vector<std::byte> memory(16);
  const Layout far({{"x", 2, std::int64_t{1} << 62}});
  CHECK_THROWS_AS(make_view(memory, DType::fp32, far), std::logic_error);
}

TEST_CASE("edge: memory that is not aligned to the element is refused") {
  std::vector<std::byte> memory(24);
  CHECK_THROWS_AS(make_view(std::span(memory).subspan(1), DType::fp32, Layout({{"x", 2, 1}})), std::logic_error);
  CHECK_NOTHROW(make_view(std::span(memory).subspan(1), DType::int8, Layout({{"x", 2, 1}})));
}

}  // namespace
}  // namespace hybridkv
