#include "layout/for_each_index.h"

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: every index comes once, in logical order, with its offset and its number") {
  check_for_layouts("for_each_index", [](const Layout& layout) {
    std::vector<std::vector<std::int64_t>> indices;
    std::vector<std::int64_t> offsets;
    for_each_index(layout, [&](std::span<const std::int64_t> index, std::int64_t offset) {
      indices.emplace_back(index.begin(), index.end());
      offsets.push_back(offset);
    });
    for (std::size_t number = 0; number < indices.size(); ++number)
      if (index_at(layout, static_cast<std::int64_t>(number)) != indices[number]) return false;
    return indices == indices_of(layout) && offsets == offsets_of(layout);
  });
}

TEST_CASE("law: counting up to a limit agrees with the number of elements") {
  check_for_layouts("has_at_most", [](const Layout& layout) {
    const std::int64_t count = layout.num_elements();
    return has_at_most(layout, count) && !has_at_most(layout, count - 1) && has_at_most(layout, count + 1);
  });
}

TEST_CASE("edge: a count that does not fit 64 bits is more than any limit") {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  CHECK_FALSE(has_at_most(Layout({{"x", big, 0}, {"y", big, 0}}), std::numeric_limits<std::int64_t>::max()));
  CHECK(has_at_most(Layout({{"x", big, 0}, {"y", big, 0}, {"z", 0, 0}}), 0));
}

}  // namespace
}  // namespace hybridkv
