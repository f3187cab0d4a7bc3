#include "layout/injectivity.h"

#include <limits>

#include "layout/for_each_index.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

/// Whether a collision is what it claims: two different legal indices of one offset.
bool proves(const Collision& collision, const Layout& layout) {
  return collision.first != collision.second && layout.at(collision.first) == collision.offset &&
         layout.at(collision.second) == collision.offset;
}

TEST_CASE("law: injective exactly if no offset comes twice, and no is proven") {
  int num_yes = 0, num_no = 0;
  check_for_layouts("injectivity", [&](const Layout& layout) {
    const std::vector<std::int64_t> offsets = sorted_offsets_of(layout);
    const bool is_unique = std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
    ++(is_unique ? num_yes : num_no);
    // Without nodes for the search nearly all is left to the enumeration.
    for (const std::int64_t max_nodes : {max_bounded_sum_nodes, std::int64_t{0}}) {
      const Injectivity result = check_injective(layout, max_nodes);
      if (result.answer != (is_unique ? Answer::yes : Answer::no)) return false;
      if (result.collision.has_value() == is_unique) return false;
      if (!is_unique && !proves(*result.collision, layout)) return false;
    }
    return true;
  });
  CHECK(num_yes > 100);
  CHECK(num_no > 100);
}

TEST_CASE("law: interleaved axes with large strides are decided, not guessed") {
  CHECK(rc::check("two interleaved axes", [] {
    const auto a = *rc::gen::inRange<std::int64_t>(1, 300), b = *rc::gen::inRange<std::int64_t>(1, 300);
    const auto extent_a = *rc::gen::inRange<std::int64_t>(2, 400), extent_b = *rc::gen::inRange<std::int64_t>(2, 400);
    constexpr std::int64_t scale = 1000000007;
    const Layout layout({{"a", extent_a, a * scale}, {"b", extent_b, b * scale}});
    // The first indices that meet are (b / g, 0) and (0, a / g).
    const std::int64_t g = std::gcd(a, b);
    RC_ASSERT((is_injective(layout) == (b / g < extent_a && a / g < extent_b ? Answer::no : Answer::yes)));
  }));
}

TEST_CASE("law: 40 GiB views of padded pages with split kernel blocks are decided at once") {
  const auto view = [](std::int64_t block_stride) {
    return Layout({{"block", 19418 * 27, block_stride}, {"kv", 2, 16 * 256}, {"token", 16, 256}, {"channel", 256, 1}});
  };
  CHECK(is_injective(view(40960)) == Answer::yes);
  CHECK(is_injective(view(8192)) == Answer::yes);
  const Layout shifted = view(8191);
  const Injectivity result = check_injective(shifted);
  REQUIRE(result.answer == Answer::no);
  CHECK(proves(*result.collision, shifted));
}

/// Eight axes whose strides lie close together: their sums are spread too thinly to meet, but no rule says so.
Layout hard_layout(std::int64_t extent) {
  const std::int64_t strides[] = {999999999989, 999999999961, 999999999937, 999999999899,
                                  999999999863, 999999999857, 999999999847, 999999999767};
  const char* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < 8; ++i)
    axes.push_back({names[i], extent, strides[i] * (1000 + static_cast<std::int64_t>(i * i * 37))});
  return Layout(axes);
}

TEST_CASE("edge: unknown only above the stated number of indices") {
  REQUIRE(has_at_most(hard_layout(5), max_enumerated_indices));
  CHECK(is_injective(hard_layout(5)) != Answer::unknown);
  REQUIRE_FALSE(has_at_most(hard_layout(30), max_enumerated_indices));
  CHECK(is_injective(hard_layout(30)) == Answer::unknown);
}

TEST_CASE("edge: an axis that stands still repeats its elements") {
  const Injectivity result = check_injective(Layout({{"x", 3, 8}, {"y", std::int64_t{1} << 50, 0}}));
  REQUIRE(result.answer == Answer::no);
  CHECK(result.collision->first == std::vector<std::int64_t>{0, 0});
  CHECK(result.collision->second == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("edge: offsets whose double does not fit 64 bits are refused, not guessed") {
  constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max() / 4;
  CHECK(is_injective(Layout({{"x", 2, big}, {"y", 2, big + 1}})) == Answer::yes);
  CHECK_THROWS_AS(is_injective(Layout({{"x", 3, big}, {"y", 3, big + 1}})), InputError);
}

}  // namespace
}  // namespace hybridkv
