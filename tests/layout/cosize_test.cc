#include "layout/cosize.h"

#include <limits>

#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: cosize is one more than the largest offset, 0 without elements, also as constant expressions") {
  CHECK_CONSTANT(cosize(Layout()) == 1);
  CHECK_CONSTANT(cosize(Layout({{"block", 2, 5}, {"token", 3, 1}}, 10)) == 18);
  CHECK_CONSTANT(cosize(Layout({{"block", 2, 5}, {"token", 0, 1}}, 10)) == 0);
  check_for_layouts("cosize", [](const Layout& layout) {
    const std::vector<std::int64_t> offsets = sorted_offsets_of(layout);
    return cosize(layout) == (offsets.empty() ? 0 : offsets.back() + 1);
  });
}

TEST_CASE("edge: a cosize past 64 bits is refused") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(cosize(Layout({}, largest - 1)) == largest);
  CHECK_THROWS_AS(cosize(Layout({}, largest)), InputError);
}

}  // namespace
}  // namespace hybridkv
