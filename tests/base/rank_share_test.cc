#include "base/rank_share.h"

#include <doctest/doctest.h>

#include <vector>

namespace hybridkv {
namespace {

TEST_CASE("golden: ranks hold neighbours in equal runs, or repeat a part on neighbouring ranks") {
  CHECK(rank_share(8, 2, 1) == RankShare{4, 4});
  CHECK(rank_share(2, 2, 1) == RankShare{1, 1});
  CHECK(rank_share(2, 8, 3) == RankShare{0, 1});
  CHECK(rank_share(2, 8, 4) == RankShare{1, 1});
  CHECK(rank_share(1, 4, 3) == RankShare{0, 1});
}

TEST_CASE("law: every part is on as many ranks as the others, all of them in order") {
  for (const std::int64_t parts : {1, 2, 3, 4, 6, 8, 12})
    for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8, 12}) {
      if (!can_share(parts, ranks)) continue;
      std::vector<std::int64_t> held(static_cast<std::size_t>(parts));
      std::int64_t last = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const RankShare share = rank_share(parts, ranks, rank);
        CHECK(share.first >= last);
        last = share.first;
        for (std::int64_t part = share.first; part < share.end(); ++part) ++held[static_cast<std::size_t>(part)];
      }
      for (const std::int64_t times : held) CHECK(times == std::max<std::int64_t>(1, ranks / parts));
    }
  CHECK(!can_share(4, 3));
  CHECK_THROWS_AS(rank_share(4, 3, 0), std::logic_error);
  CHECK_THROWS_AS(rank_share(4, 2, 2), std::logic_error);
}

}  // namespace
}  // namespace hybridkv
