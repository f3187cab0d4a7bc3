#include "planner/layer_tables.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace hybridkv;

namespace {

/// A spec of so many layers of full attention, or with a window, or states.
SpecPlan spec_of_layers(std::int64_t id, std::int64_t layers, std::int64_t window = 0, bool state = false) {
  SpecPlan spec;
  spec.id = id;
  spec.layers.resize(static_cast<std::size_t>(layers));
  std::iota(spec.layers.begin(), spec.layers.end(), 100 * id);
  spec.num_pages = layers;
  spec.block_size_tokens = 16;
  if (state)
    spec.state = StateSpec{};
  else
    spec.attention = AttentionGeometry{
        .kind = window > 0 ? AttentionKind::sliding_window : AttentionKind::full, .window_tokens = window};
  return spec;
}

/// Layers of each part of each table.
std::vector<std::vector<std::size_t>> sizes_of(const std::vector<LayerTable>& tables) {
  std::vector<std::vector<std::size_t>> sizes;
  for (const LayerTable& table : tables) {
    sizes.emplace_back();
    for (const TablePart& part : table) sizes.back().push_back(part.layers.size());
  }
  return sizes;
}

using Sizes = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("golden: tables of pages of one size take every n-th layer of their spec") {
  const std::vector<SpecPlan> specs{spec_of_layers(0, 5), spec_of_layers(1, 2)};
  const std::vector<LayerTable> tables = uniform_tables(specs, 2);
  CHECK(sizes_of(tables) == Sizes{{2}, {2}, {1}, {2}});
  CHECK(tables[0].front().layers == std::vector<std::int64_t>{0, 3});
  CHECK(tables[2].front().layers == std::vector<std::int64_t>{2});
  CHECK(table_bytes(tables[0], {10, 7}) == 20);
  CHECK(table_bytes(tables[3], {10, 7}) == 14);
}

TEST_CASE("golden: full attention of two page sizes is one table, and states are no wider than it") {
  // 15 layers and one draft twice as large: 17 pages; 45 states of one page each: three tables.
  const std::vector<SpecPlan> specs{spec_of_layers(0, 45, 0, true), spec_of_layers(1, 15), spec_of_layers(2, 1)};
  CHECK(sizes_of(mixed_tables(specs, {100, 100, 200})) == Sizes{{15}, {15}, {15}, {15, 1}});
  // With 52 states of which only ten go beside: six tables.
  const std::vector<SpecPlan> more{spec_of_layers(0, 52, 0, true), spec_of_layers(1, 10), spec_of_layers(2, 1)};
  CHECK(sizes_of(mixed_tables(more, {100, 100, 25})) == Sizes{{9}, {9}, {9}, {9}, {8}, {8}, {10, 1}});
}

TEST_CASE("golden: layers that come in pairs of two sizes are spread evenly, and others by their repeats") {
  // 12 pairs: r = 12, as 36 states then leave no place empty.
  const std::vector<SpecPlan> pairs{spec_of_layers(0, 36, 0, true), spec_of_layers(1, 12), spec_of_layers(2, 12)};
  CHECK(sizes_of(mixed_tables(pairs, {100, 100, 3})) == Sizes{{12}, {12}, {12}, {12, 12}});
  // 34 states beside 11 pairs: r = 12 leaves fewest places empty, but only 11 states are as wide as the pairs.
  const std::vector<SpecPlan> odd{spec_of_layers(0, 34, 0, true), spec_of_layers(1, 11), spec_of_layers(2, 11)};
  CHECK(sizes_of(mixed_tables(odd, {100, 100, 3})) == Sizes{{9}, {9}, {8}, {8}, {11, 11}});
}

TEST_CASE("golden: of repeats that leave equally few places empty tables take the larger") {
  // 3 pairs beside 8 windows: r = 3 leaves one place of 3 * 3 windows empty, r = 4 one of the pairs' own, 5 to 8 more.
  const std::vector<SpecPlan> specs{spec_of_layers(0, 8, 128), spec_of_layers(1, 3), spec_of_layers(2, 3)};
  CHECK(sizes_of(mixed_tables(specs, {100, 100, 3})) == Sizes{{4}, {4}, {3, 3}});
}

TEST_CASE("golden: windows count as states where no layers come in pairs") {
  const std::vector<SpecPlan> specs{spec_of_layers(0, 3, 128), spec_of_layers(1, 7), spec_of_layers(2, 1)};
  CHECK(sizes_of(mixed_tables(specs, {200, 100, 50})) == Sizes{{3}, {7, 1}});
  CHECK(sizes_of(mixed_tables(specs, {800, 100, 50})) == Sizes{{1}, {1}, {1}, {7, 1}});
}

TEST_CASE("golden: layers with a window are in no table of full attention, whichever of both comes first") {
  const std::vector<SpecPlan> full_first{spec_of_layers(0, 4), spec_of_layers(1, 2, 128)};
  CHECK(sizes_of(mixed_tables(full_first, {100, 100})) == Sizes{{4}, {2}});
  const std::vector<SpecPlan> window_first{spec_of_layers(0, 2, 128), spec_of_layers(1, 4)};
  CHECK(sizes_of(mixed_tables(window_first, {100, 100})) == Sizes{{2}, {4}});
}

TEST_CASE("golden: stages of a pipeline, what is left over going to the stages before the last") {
  CHECK(layers_of_stages(60, 2) == std::vector<std::int64_t>{30, 30});
  CHECK(layers_of_stages(61, 2) == std::vector<std::int64_t>{31, 30});
  CHECK(layers_of_stages(62, 4) == std::vector<std::int64_t>{15, 16, 16, 15});
  CHECK(layers_of_stages(63, 4) == std::vector<std::int64_t>{16, 16, 16, 15});
  CHECK(layers_of_stages(3, 1) == std::vector<std::int64_t>{3});
}
