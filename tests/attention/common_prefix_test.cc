#include "attention/common_prefix.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"

namespace hybridkv::test {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST_CASE("golden: two equal leading blocks, but the second request writes into the second of them") {
  CHECK(common_prefix_tokens(make_metadata(Numbers{1, 1}, Numbers{41, 32}, {5, 6, 7, 5, 6, 8}, 3, 16)) == 16);
  CHECK(common_prefix_tokens(make_metadata(Numbers{1, 1}, Numbers{41, 33}, {5, 6, 7, 5, 6, 8}, 3, 16)) == 32);
  CHECK(common_prefix_tokens(make_metadata(Numbers{1, 1}, Numbers{41, 33}, {5, 6, 7, 4, 6, 8}, 3, 16)) == 0);
}

TEST_CASE("edge: no request, one request, requests without query tokens, tokens before the sequence") {
  CHECK(common_prefix_tokens(make_metadata(Numbers{}, Numbers{}, {}, 0, 16)) == 0);
  CHECK(common_prefix_tokens(make_metadata(Numbers{3}, Numbers{40}, {1, 2, 3}, 3, 16)) == 32);
  CHECK(common_prefix_tokens(make_metadata(Numbers{3, 0}, Numbers{40, 16}, {1, 2, 3, 9, 0, 0}, 3, 16)) == 32);
  CHECK(common_prefix_tokens(make_metadata(Numbers{0}, Numbers{40}, {1, 2, 3}, 3, 16)) == 0);
  CHECK(common_prefix_tokens(make_metadata(Numbers{34}, Numbers{1}, {1}, 1, 16)) == 0);
}

TEST_CASE("law: the prefix is common, past context of all, and one block more is not") {
  CHECK(rc::check("longest common prefix", [] {
    BatchShape shape = random_shape();
    shape.shared_prefix_blocks *= 2;
    const CommonAttentionMetadata metadata =
        random_batch(shape, *rc::gen::arbitrary<std::uint64_t>()).metadata;
    Numbers requests;
    for (std::int64_t r = 0; r < metadata.num_reqs; ++r)
      if (metadata.query_len(r) > 0) requests.push_back(r);
    const auto holds = [&](std::int64_t tokens) {
      for (const std::int64_t r : requests) {
        if (metadata.num_computed_tokens[r] < tokens) return false;
        for (std::int64_t column = 0; column < tokens / metadata.block_size_tokens; ++column)
          if (metadata.block(r, column) != metadata.block(requests.front(), column)) return false;
      }
      return true;
    };
    const std::int64_t tokens = common_prefix_tokens(metadata);
    RC_ASSERT(tokens % metadata.block_size_tokens == 0);
    RC_ASSERT(holds(tokens));
    if (requests.empty()) RC_ASSERT(tokens == 0);
    else RC_ASSERT(!holds(tokens + metadata.block_size_tokens));
  }));
}

}  // namespace
}  // namespace hybridkv::test
