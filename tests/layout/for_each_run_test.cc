#include "layout/for_each_run.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace hybridkv;

namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Runs runs_of(const Layout& layout) {
  Runs runs;
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count) { runs.emplace_back(offset, count); });
  return runs;
}

std::vector<std::int64_t> elements_of(const Layout& layout) {
  std::vector<std::int64_t> offsets;
  for_each_index(layout, [&](std::span<const std::int64_t>, std::int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

}  // namespace

TEST_CASE("golden: runs of small layouts") {
  CHECK(runs_of(Layout({{"block", 2, 5}, {"token", 3, 1}})) == Runs{{0, 3}, {5, 3}});
  CHECK(runs_of(Layout({{"block", 2, 3}, {"token", 3, 1}}, 7)) == Runs{{7, 6}});
  CHECK(runs_of(Layout({{"token", 3, 4}})) == Runs{{0, 1}, {4, 1}, {8, 1}});
  CHECK(runs_of(Layout({{"block", 2, 9}, {"head", 2, 1}, {"token", 3, 2}})) ==
        Runs{{0, 1}, {2, 1}, {4, 1}, {1, 1}, {3, 1}, {5, 1}, {9, 1}, {11, 1}, {13, 1}, {10, 1}, {12, 1}, {14, 1}});
}

TEST_CASE("edge: no axis is one element, an empty axis none") {
  CHECK(runs_of(Layout({}, 4)) == Runs{{4, 1}});
  CHECK(runs_of(Layout({{"block", 2, 5}, {"token", 0, 1}})).empty());
  CHECK(runs_of(Layout({{"block", 0, 5}, {"token", 3, 1}})).empty());
}

TEST_CASE("law: the runs are the elements in logical order") {
  for (std::int64_t block_stride : {6, 7, 24, 25})
    for (std::int64_t head_stride : {1, 3, 6}) {
      const Layout layout({{"block", 3, block_stride}, {"head", 2, head_stride}, {"token", 3, 1}}, 2);
      std::vector<std::int64_t> offsets;
      for_each_run(layout, [&](std::int64_t offset, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) offsets.push_back(offset + i);
      });
      CHECK(offsets == elements_of(layout));
    }
}
