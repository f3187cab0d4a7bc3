#include "layout/locate.h"

#include <algorithm>

#include "layout/for_each_index.h"
#include "layout/scale.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: what locate finds lies there, and it finds every element of a layout") {
  int found = 0, missed = 0;
  check_for_layouts("locate", [&](const Layout& layout) {
    std::vector<std::int64_t> offsets = sorted_offsets_of(layout);
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    const std::int64_t end = offsets.empty() ? layout.offset() + 3 : offsets.back() + 3;
    for (std::int64_t place = 0; place < std::min<std::int64_t>(end, layout.offset() + 500); ++place) {
      const std::optional<Located> located = locate(layout, place);
      const bool is_element = std::binary_search(offsets.begin(), offsets.end(), place);
      if (located.has_value() != is_element) return false;
      if (located && (layout.at(located->index) != place || located->rest != 0)) return false;
      ++(is_element ? found : missed);
    }
    return true;
  });
  CHECK(found > 1000);
  CHECK(missed > 1000);
}

TEST_CASE("law: every byte of an element is located with how far it lies inside") {
  const Layout elements({{"block", 3, 100}, {"kv", 2, 50}, {"token", 4, 8}, {"one", 1, 7}, {"channel", 5, 1}}, 3);
  const Layout bytes = scale(elements, 4);
  for_each_index(elements, [&](std::span<const std::int64_t> index, std::int64_t offset) {
    for (std::int64_t rest = 0; rest < 4; ++rest) {
      const std::optional<Located> located = locate(bytes, 4 * offset + rest, 4);
      REQUIRE(located);
      CHECK(std::equal(index.begin(), index.end(), located->index.begin()));
      CHECK(located->rest == rest);
    }
  });
  CHECK(!locate(bytes, 4 * 3 - 1, 4));
  CHECK(!locate(bytes, 4 * (3 + 5), 4));  // between two tokens
}

TEST_CASE("edge: axes that interleave are searched, and a layout without an element has none") {
  const Layout knit({{"a", 2, 4}, {"b", 3, 3}});
  CHECK(locate(knit, 6)->index == std::vector<std::int64_t>{0, 2});
  CHECK(locate(knit, 7)->index == std::vector<std::int64_t>{1, 1});
  CHECK(!locate(knit, 5));
  CHECK(!locate(Layout({{"a", 0, 4}}), 0));
  CHECK(locate(Layout(), 0)->index.empty());
  // A single element ends behind its last place.
  CHECK(locate(Layout(), 3, 4)->rest == 3);
  CHECK(!locate(Layout(), 4, 4));
}

TEST_CASE("edge: a layout that reaches far into 64 bits is searched without a number beyond them") {
  // Its last place is 2^62 + 3; a fourth block would begin at 3 * 2^61, and a fifth at 2^63, which is no number here.
  constexpr std::int64_t step = std::int64_t{1} << 61;
  const Layout layout({{"block", 3, step}, {"channel", 4, 1}});
  CHECK(locate(layout, 2 * step + 3)->index == std::vector<std::int64_t>{2, 3});
  CHECK(!locate(layout, 2 * step + 4));
}

}  // namespace
}  // namespace hybridkv
