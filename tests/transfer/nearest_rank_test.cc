#include "transfer/nearest_rank.h"

#include <doctest/doctest.h>

namespace hybridkv {
namespace {

using Parts = std::vector<PartsFromRank>;

TEST_CASE("golden: TP 4 to TP 2 with 2 KV heads: each head once, from the first of its copies") {
  CHECK(parts_from_ranks(2, 4, 2, 0) == Parts{{0, 0, 0, 1}});
  CHECK(parts_from_ranks(2, 4, 2, 1) == Parts{{2, 0, 0, 1}});
}

TEST_CASE("golden: repeated heads are read from the copy nearest to the reader") {
  std::vector<std::int64_t> asked;
  for (std::int64_t rank = 0; rank < 8; ++rank) asked.push_back(parts_from_ranks(2, 4, 8, rank).front().from_rank);
  CHECK(asked == std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3});
  // Equal ranks read from themselves.
  for (std::int64_t rank = 0; rank < 8; ++rank) CHECK(parts_from_ranks(2, 8, 8, rank) == Parts{{rank, 0, 0, 1}});
}

TEST_CASE("golden: ranks that do not divide each other cut where either ends") {
  CHECK(parts_from_ranks(6, 3, 2, 0) == Parts{{0, 0, 0, 2}, {1, 0, 2, 1}});
  CHECK(parts_from_ranks(6, 3, 2, 1) == Parts{{1, 1, 0, 1}, {2, 0, 1, 2}});
  CHECK(parts_from_ranks(6, 2, 3, 1) == Parts{{0, 2, 0, 1}, {1, 0, 1, 1}});
}

}  // namespace
}  // namespace hybridkv
