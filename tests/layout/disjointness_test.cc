#include "layout/disjointness.h"

#include <map>

#include "layout/for_each_index.h"
#include "tests/layout/layout_cases.h"

namespace hybridkv {
namespace {

/// The first pair of layouts that share a byte, by writing every byte down; {0, 0} for none.
std::pair<std::size_t, std::size_t> first_meeting_pair(const std::vector<PlacedLayout>& layouts) {
  std::map<std::int64_t, std::vector<std::size_t>> owners;
  std::pair<std::size_t, std::size_t> first{layouts.size(), layouts.size()};
  for (std::size_t i = 0; i < layouts.size(); ++i)
    for (const std::int64_t offset : offsets_of(layouts[i].layout))
      for (std::int64_t byte = 0; byte < layouts[i].element_bytes; ++byte) {
        auto& known = owners[layouts[i].base_bytes + offset * layouts[i].element_bytes + byte];
        for (const std::size_t other : known)
          if (other != i) first = std::min(first, {other, i});
        if (known.empty() || known.back() != i) known.push_back(i);
      }
  return first.first == layouts.size() ? std::pair<std::size_t, std::size_t>{0, 0} : first;
}

bool holds_byte(const PlacedLayout& placed, const std::vector<std::int64_t>& index, std::int64_t byte) {
  const std::int64_t begin = placed.base_bytes + placed.layout.at(index) * placed.element_bytes;
  return begin <= byte && byte < begin + placed.element_bytes;
}

/// Whether an overlap is what it claims.
bool proves(const Overlap& overlap, const std::vector<PlacedLayout>& layouts) {
  return overlap.first < overlap.second &&
         holds_byte(layouts[overlap.first], overlap.first_index, overlap.byte_address) &&
         holds_byte(layouts[overlap.second], overlap.second_index, overlap.byte_address);
}

/// Layouts that fit between each other about as often as not: strided pages, offset by chance, and any others.
rc::Gen<PlacedLayout> any_placed() {
  return rc::gen::exec([] {
    const auto width = *rc::gen::element<std::int64_t>(1, 2, 4);
    const auto base = *rc::gen::inRange<std::int64_t>(0, 200);
    if (*rc::gen::inRange(0, 3) == 0) return PlacedLayout{*any_layout(), width, base};
    const auto page = *rc::gen::element<std::int64_t>(24, 32, 36, 48);
    const auto blocks = *rc::gen::inRange<std::int64_t>(1, 6), tokens = *rc::gen::inRange<std::int64_t>(1, 5);
    const auto token_stride = *rc::gen::element<std::int64_t>(1, 2, 4, 6);
    const Layout layout({{"block", blocks, page / width}, {"token", tokens, token_stride}});
    return PlacedLayout{layout, width, base};
  });
}

TEST_CASE("law: disjoint exactly if no byte has two owners, and no is proven by the first pair") {
  int num_yes = 0, num_no = 0;
  CHECK(rc::check("disjointness", [&] {
    for (int repetition = 0; repetition < 40; ++repetition) {
      std::vector<PlacedLayout> layouts;
      for (auto count = *rc::gen::inRange(0, 4); count > -2; --count)
        layouts.push_back(*rc::gen::resize(rc::kNominalSize, any_placed()));
      for (const PlacedLayout& placed : layouts)
        RC_LOG() << to_string(placed.layout) << " x" << placed.element_bytes << " at " << placed.base_bytes << "\n";
      const auto expected = first_meeting_pair(layouts);
      const bool meet = expected.second != 0;
      ++(meet ? num_no : num_yes);
      // Without nodes for the search nearly all is left to the enumeration.
      for (const std::int64_t max_nodes : {max_bounded_sum_nodes, std::int64_t{0}}) {
        const Disjointness result = check_disjoint(layouts, max_nodes);
        RC_ASSERT(result.answer == (meet ? Answer::no : Answer::yes));
        RC_ASSERT(result.overlap.has_value() == meet);
        if (!meet) continue;
        RC_ASSERT((std::pair{result.overlap->first, result.overlap->second}) == expected);
        RC_ASSERT(proves(*result.overlap, layouts));
      }
    }
  }));
  MESSAGE("disjoint ", num_yes, ", overlapping ", num_no);
  CHECK(num_yes > 400);
  CHECK(num_no > 400);
}

/// K and V of every layer of a pack in 40 GiB of padded pages: kernel blocks of 144 tokens, bf16, 5 layers.
std::vector<PlacedLayout> packed_views() {
  constexpr std::int64_t kernel_blocks = 19418 * 3, layers = 5, per_layer = 2 * 144 * 256;
  std::vector<PlacedLayout> views;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (std::int64_t kv = 0; kv < 2; ++kv)
      views.push_back({Layout({{"block", kernel_blocks, layers * per_layer}, {"token", 144, 256}, {"channel", 256, 1}},
                              layer * per_layer + kv * 144 * 256), 2, 0});
  return views;
}

TEST_CASE("law: the views of a 40 GiB pool are proven disjoint symbolically") {
  std::vector<PlacedLayout> views = packed_views();
  REQUIRE_FALSE(has_at_most(views[0].layout, max_enumerated_indices));
  REQUIRE(contains(std::int64_t{40} << 30, views.back()));
  CHECK(check_disjoint(views).answer == Answer::yes);
}

TEST_CASE("fault: one element too far, a wrong pack index or a wrong stride is found in a 40 GiB pool") {
  const auto expect_overlap = [](const std::vector<PlacedLayout>& views) {
    const Disjointness result = check_disjoint(views);
    REQUIRE(result.answer == Answer::no);
    CHECK(proves(*result.overlap, views));
  };
  std::vector<PlacedLayout> one_element = packed_views();
  one_element[4].base_bytes = 1;
  expect_overlap(one_element);
  std::vector<PlacedLayout> same_pack_index = packed_views();
  same_pack_index[6].layout = same_pack_index[2].layout;
  expect_overlap(same_pack_index);
  std::vector<PlacedLayout> wrong_stride = packed_views();
  const Layout& right = wrong_stride[9].layout;
  wrong_stride[9].layout =
      Layout({{"block", right[0].extent, right[0].stride - 256}, right[1], right[2]}, right.offset());
  expect_overlap(wrong_stride);
}

TEST_CASE("law: a state behind an attention page is told from one that reaches into it, at the far end only") {
  constexpr std::int64_t pages = 1000000, page = 40960;
  const PlacedLayout attention{Layout({{"block", pages, page / 2}, {"token", 16, 1024}, {"channel", 1024, 1}}), 2, 0};
  const PlacedLayout state{Layout({{"block", pages, page / 4}, {"head", 8, 256}, {"key", 256, 1}}), 4, 32768};
  CHECK(check_disjoint(std::vector{attention, state}).answer == Answer::yes);
  // A page 4 bytes too long drifts: only late blocks meet the next page of the other.
  const PlacedLayout drifting{Layout({{"block", pages, page / 4 + 1}, {"key", 1024, 1}}), 4, 32768};
  const Disjointness result = check_disjoint(std::vector{attention, drifting});
  REQUIRE(result.answer == Answer::no);
  CHECK(proves(*result.overlap, {attention, drifting}));
  CHECK(result.overlap->second_index[0] >= 1024);
}

TEST_CASE("edge: unknown only above the stated number of indices, and never hides a proven overlap") {
  const auto hard = [](std::int64_t extent, std::int64_t salt) {
    std::vector<Axis> axes;
    const char* const names[] = {"a", "b", "c", "d", "e", "f"};
    const std::int64_t strides[] = {999983, 999979, 999961, 999959, 999953, 999931};
    for (std::size_t i = 0; i < 6; ++i)
      axes.push_back({names[i], extent, strides[i] * (1009 + salt * static_cast<std::int64_t>(i))});
    return PlacedLayout{Layout(axes), 1, salt};
  };
  CHECK(check_disjoint(std::vector{hard(9, 11), hard(9, 13)}).answer != Answer::unknown);
  const std::vector<PlacedLayout> two{hard(1000, 11), hard(1000, 13)};
  CHECK(check_disjoint(two).answer == Answer::unknown);
  const Disjointness three = check_disjoint(std::vector{two[0], two[1], two[1]});
  REQUIRE(three.answer == Answer::no);
  CHECK(three.overlap->first == 1);
  CHECK(three.overlap->second == 2);
}

TEST_CASE("edge: neighbours that touch do not overlap, nothing overlaps nothing") {
  const Layout row({{"x", 4, 1}});
  CHECK(check_disjoint(std::vector<PlacedLayout>{{row, 2, 0}, {row, 2, 8}}).answer == Answer::yes);
  CHECK(check_disjoint(std::vector<PlacedLayout>{{row, 2, 0}, {row, 2, 7}}).answer == Answer::no);
  CHECK(check_disjoint(std::vector<PlacedLayout>{{row, 2, 0}, {Layout({{"x", 0, 1}}), 2, 3}}).answer == Answer::yes);
  CHECK(check_disjoint({}).answer == Answer::yes);
}

}  // namespace
}  // namespace hybridkv
