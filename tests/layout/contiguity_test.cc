#include "layout/contiguity.h"

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: contiguous in logical order, dense in any, also as constant expressions") {
  CHECK_CONSTANT(is_contiguous(Layout({{"token", 3, 4}, {"channel", 4, 1}}, 6)));
  CHECK_CONSTANT(!is_contiguous(Layout({{"channel", 4, 1}, {"token", 3, 4}})));
  CHECK_CONSTANT(is_dense(Layout({{"channel", 4, 1}, {"token", 3, 4}})));
  CHECK_CONSTANT(!is_dense(Layout({{"token", 3, 5}, {"channel", 4, 1}})));
  CHECK_CONSTANT(!is_dense(Layout({{"x", 3, 0}})));
}

/// Whether each number is one more than the one before.
bool counts_up(const std::vector<std::int64_t>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - 1] + 1) return false;
  return true;
}

TEST_CASE("law: both agree with the offsets written out") {
  int num_contiguous = 0, num_only_dense = 0, num_neither = 0;
  check_for_layouts("contiguity", [&](const Layout& layout) {
    const bool contiguous = counts_up(offsets_of(layout)), dense = counts_up(sorted_offsets_of(layout));
    ++(contiguous ? num_contiguous : dense ? num_only_dense : num_neither);
    return is_contiguous(layout) == contiguous && is_dense(layout) == dense;
  });
  CHECK(num_contiguous > 10);
  CHECK(num_only_dense > 10);
  CHECK(num_neither > 10);
}

}  // namespace
}  // namespace hybridkv
