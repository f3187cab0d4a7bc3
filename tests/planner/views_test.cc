// Where every tensor lies: inside its page, apart from every other, each element once.
#include "planner/views.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "layout/disjointness.h"
#include "layout/for_each_index.h"
#include "layout/injectivity.h"
#include "layout/placed_layout.h"
#include "layout/shift.h"
#include "layout/slice.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Views by the page they share: same group, same pool. Groups are told apart by the layers of their pages.
std::map<std::pair<std::size_t, std::int64_t>, std::vector<ViewPlan>> views_by_page(const CachePlan& plan) {
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<ViewPlan>> pages;
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    for (std::size_t pool = 0; pool < plan.groups[g].pages.size(); ++pool) {
      const auto& layers = plan.groups[g].pages[pool];
      for (const ViewPlan& view : plan.views)
        if (view.spec == plan.groups[g].spec && view.pool == static_cast<std::int64_t>(pool) &&
            std::find(layers.begin(), layers.end(), view.layer) != layers.end())
          pages[{g, view.pool}].push_back(view);
    }
  return pages;
}

PlacedLayout placed(const ViewPlan& view, const Layout& layout) { return {layout, element_bytes(view.dtype), 0}; }

std::int64_t kernel_blocks_per_page(const CachePlan& plan, const ViewPlan& view) {
  const SpecPlan& spec = plan.specs[view.spec];
  return spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
}

/// Every element of every view of the page, in three pages with the strides of the plan, marked byte by byte.
bool bytes_are_apart(const CachePlan& plan, const std::vector<ViewPlan>& page) {
  const std::int64_t pages = std::min<std::int64_t>(3, plan.num_blocks());
  std::set<std::int64_t> taken;
  for (const ViewPlan& view : page) {
    const std::int64_t per_page = kernel_blocks_per_page(plan, view);
    const Layout shrunken = slice(view.elements(), "block", 0, pages * per_page);
    const int block_axis = shrunken.find("block");
    const std::int64_t element = element_bytes(view.dtype);
    bool apart = true;
    for_each_index(shrunken, [&](std::span<const std::int64_t> index, std::int64_t offset) {
      const std::int64_t block = index[block_axis] / per_page;
      for (std::int64_t byte = offset * element; byte < (offset + 1) * element; ++byte)
        apart = apart && byte / plan.page_bytes() == block && taken.insert(byte).second;
    });
    if (!apart) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("law: at full size every view is injective, inside its pool, and apart from the others of its page") {
  std::int64_t views = 0;
  CHECK(check_plans("views at full size", 10'000, SpecSize::real, [&](const RandomSpecs&, const CachePlan& plan) {
    for (const auto& [place, page] : views_by_page(plan)) {
      std::vector<PlacedLayout> layouts;
      for (const ViewPlan& view : page) {
        ++views;
        layouts.push_back(placed(view, view.elements()));
        RC_ASSERT(contains(plan.pools[view.pool].bytes, layouts.back()));
        RC_ASSERT(is_injective(view.elements()) == Answer::yes);
      }
      RC_ASSERT(check_disjoint(layouts).answer == Answer::yes);
    }
  }));
  CHECK(views > 100'000);
}

TEST_CASE("law: byte by byte, every element of a page is its own and stays in its page") {
  std::int64_t enumerated = 0;
  CHECK(check_plans("views byte by byte", 1'000, SpecSize::tiny, [&](const RandomSpecs&, const CachePlan& plan) {
    if (plan.page_bytes() > 4096) return;
    ++enumerated;
    for (const auto& [place, page] : views_by_page(plan)) RC_ASSERT(bytes_are_apart(plan, page));
  }));
  CHECK(enumerated > 200);
}

TEST_CASE("law: every layer of every spec has its views, and no other") {
  CHECK(check_plans("views of layers", 1'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::string>> expected, found;
    for (const SpecPlan& spec : plan.specs)
      for (const std::int64_t layer : spec.layers) {
        if (spec.attention) expected.emplace(spec.id, layer, "kv");
        if (spec.state)
          for (const StateTensor& tensor : spec.state->tensors) expected.emplace(spec.id, layer, tensor.name);
      }
    for (const ViewPlan& view : plan.views) RC_ASSERT(found.emplace(view.spec, view.layer, view.tensor).second);
    RC_ASSERT(found == expected);
  }));
}

TEST_CASE("fault: a view moved by one element is seen by both laws") {
  EngineSpec engine{.attention_pack_size = 3};
  engine.num_blocks = 4;
  CachePlan plan = make_plan(two_layer_model(), engine, {.max_model_lens = {16}});
  for (const auto& [place, page] : views_by_page(plan)) CHECK(bytes_are_apart(plan, page));
  ViewPlan& state = plan.views[1];
  REQUIRE(state.tensor == "ssm");
  state.bytes = shift(state.bytes, -element_bytes(state.dtype));
  const auto pages = views_by_page(plan);
  const std::vector<ViewPlan>& page = pages.begin()->second;
  CHECK_FALSE(bytes_are_apart(plan, page));
  const std::vector<PlacedLayout> both{placed(page[0], page[0].elements()), placed(page[1], page[1].elements())};
  CHECK(check_disjoint(both).answer == Answer::no);
}

TEST_CASE("fault: a view that does not lie on whole elements has bytes, but no layout in elements") {
  ViewPlan view{.dtype = DType::fp32, .bytes = Layout({{"block", 4, 1000}, {"token", 3, 4}}, 8)};
  CHECK(view.elements() == Layout({{"block", 4, 250}, {"token", 3, 1}}, 2));
  view.bytes = shift(view.bytes, 2);
  CHECK_THROWS_AS(view.elements(), std::logic_error);
}
