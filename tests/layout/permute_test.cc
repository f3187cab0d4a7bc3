#include "layout/permute.h"

#include <numeric>
#include <stdexcept>

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

constexpr Layout permuted_pages({{"block", 2, 5}, {"token", 3, 1}});

TEST_CASE("law: permuting keeps strides with their axes, also as constant expressions") {
  CHECK_CONSTANT(permute(permuted_pages, {"token", "block"}) == Layout({{"token", 3, 1}, {"block", 2, 5}}));
  CHECK_CONSTANT(permute(permute(permuted_pages, {"token", "block"}), {"block", "token"}) == permuted_pages);
}

/// Whether a permuted layout gives each index, its positions permuted alike, the same offset.
bool keeps_offsets(const Layout& layout, const std::vector<std::size_t>& order) {
  std::vector<AxisName> names;
  for (const std::size_t place : order) names.push_back(layout.axes()[place].name);
  const Layout permuted = permute(layout, names);
  for (const auto& index : indices_of(layout)) {
    std::vector<std::int64_t> moved;
    for (const std::size_t place : order) moved.push_back(index[place]);
    if (permuted.at(moved) != layout.at(index)) return false;
  }
  return sorted_offsets_of(permuted) == sorted_offsets_of(layout);
}

TEST_CASE("law: an index means the same element in every order of the axes") {
  check_for_layouts("permute", [](const Layout& layout) {
    std::vector<std::size_t> order(static_cast<std::size_t>(layout.rank()));
    std::iota(order.begin(), order.end(), 0);
    int num_orders = 0;
    do {
      if (!keeps_offsets(layout, order)) return false;
    } while (std::next_permutation(order.begin(), order.end()) && ++num_orders < 24);
    std::reverse(order.begin(), order.end());
    return keeps_offsets(layout, order);
  });
}

TEST_CASE("edge: an order that leaves out, repeats or invents an axis is refused") {
  CHECK_THROWS_AS(permute(permuted_pages, {"block"}), std::logic_error);
  CHECK_THROWS_AS(permute(permuted_pages, {"block", "block"}), std::logic_error);
  CHECK_THROWS_AS(permute(permuted_pages, {"block", "head"}), std::logic_error);
  CHECK_THROWS_AS(permute(permuted_pages, {"block", "token", "token"}), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
