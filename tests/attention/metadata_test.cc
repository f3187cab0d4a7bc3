#include "attention/metadata.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace hybridkv {
namespace {

using Numbers = std::vector<std::int64_t>;

CommonAttentionMetadata decode_and_prompt() {
  return make_metadata(Numbers{1, 5}, Numbers{32, 48}, {8, 15, 0, 14, 9, 3}, 3, 16);
}

TEST_CASE("golden: lengths and slots of a decode at 31 tokens and a prompt chunk of 5 after 43") {
  const CommonAttentionMetadata metadata = decode_and_prompt();
  CHECK(metadata.query_start_loc == Numbers{0, 1, 6});
  CHECK(metadata.num_computed_tokens == Numbers{31, 43});
  CHECK(metadata.num_reqs == 2);
  CHECK(metadata.num_actual_tokens == 6);
  CHECK(metadata.max_query_len == 5);
  CHECK(metadata.max_seq_len == 48);
  CHECK(metadata.slot_mapping == Numbers{255, 59, 60, 61, 62, 63});
  CHECK(metadata.query_len(1) == 5);
  CHECK(metadata.position(1, 4) == 47);
  CHECK(metadata.causal);
}

TEST_CASE("edge: an empty batch, a request without query tokens, a request without tokens") {
  CHECK(make_metadata(Numbers{}, Numbers{}, {}, 0, 16).num_actual_tokens == 0);
  const CommonAttentionMetadata metadata = make_metadata(Numbers{0, 0}, Numbers{0, 16}, {0, 3}, 1, 16);
  CHECK(metadata.slot_mapping.empty());
  CHECK(metadata.num_computed_tokens == Numbers{0, 16});
}

TEST_CASE("edge: a batch that contradicts itself is refused with the request and the numbers") {
  const auto refused = [](const char* message, auto change) {
    CommonAttentionMetadata metadata = decode_and_prompt();
    change(metadata);
    CHECK_THROWS_WITH_AS(check_metadata(metadata), doctest::Contains(message), InputError);
  };
  CHECK_NOTHROW(check_metadata(decode_and_prompt()));
  refused("seq_lens has 1 entries, 2 are needed", [](auto& m) { m.seq_lens.pop_back(); });
  refused("num_computed_tokens has 3 entries", [](auto& m) { m.num_computed_tokens.push_back(0); });
  refused("block_table has 5 entries, 6 are needed", [](auto& m) { m.block_table.pop_back(); });
  refused("slot_mapping has 5 entries, 6 are needed", [](auto& m) { m.slot_mapping.pop_back(); });
  refused("runs from 0 to 6, not from 0 to the 7 tokens", [](auto& m) {
    m.num_actual_tokens = 7;
    m.slot_mapping.push_back(-1);
  });
  refused("request 0: 31 context and 2 query tokens do not make a sequence of 32",
          [](auto& m) { m.query_start_loc[1] = 2; });
  refused("request 1: 45 context and 5 query tokens", [](auto& m) { m.num_computed_tokens[1] = 45; });
  refused("request 1: 49 tokens need 4 blocks of 16, but the block table has 3 columns", [](auto& m) {
    m.seq_lens[1] = 49;
    m.num_computed_tokens[1] = 44;
  });
  refused("request 1: block 14 stands twice", [](auto& m) { m.block_table[5] = 14; });
  refused("request 0: block id -1 is negative", [](auto& m) { m.block_table[1] = -1; });
  refused("rows of 3 blocks of 0 tokens", [](auto& m) { m.block_size_tokens = 0; });
  refused("blocks of 2147483648 tokens", [](auto& m) { m.block_size_tokens = std::int64_t{1} << 31; });
}

TEST_CASE("edge: lengths that cannot be are refused") {
  CHECK_THROWS_WITH_AS(make_metadata(Numbers{1, -2}, Numbers{4, 4}, {1, 2}, 1, 4),
                       doctest::Contains("request 1: -2 query tokens of a sequence of 4"), InputError);
  CHECK_THROWS_WITH_AS(make_metadata(Numbers{1}, Numbers{4, 4}, {1, 2}, 1, 4),
                       doctest::Contains("seq_lens has 2 entries, 1 are needed"), InputError);
  CHECK_THROWS_WITH_AS(make_metadata(Numbers{1}, Numbers{5}, {1}, 1, 4),
                       doctest::Contains("5 tokens need 2 blocks of 4"), InputError);
  CHECK_THROWS_WITH_AS(make_metadata(Numbers{1}, Numbers{1}, {std::int64_t{1} << 62}, 1, 16),
                       doctest::Contains("too large for 64 bits"), InputError);
}

}  // namespace
}  // namespace hybridkv
