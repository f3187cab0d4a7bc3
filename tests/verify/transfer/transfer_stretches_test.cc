#include "verify/transfer/transfer_stretches.h"

#include <stdexcept>

#include "tests/verify/transfer/transfer_pairs.h"
#include "verify/transfer/transfer_run.h"

namespace hybridkv::testing {

namespace {

/// A rank's part of a tensor of a state, of which no bytes are looked at.
RankState part_of(std::string tensor, std::vector<std::int64_t> columns, std::int64_t rows, std::int64_t width) {
  RankState state;
  state.name = {CachedKind::state, false, 0, std::move(tensor)};
  state.columns = std::move(columns);
  state.rows = rows;
  state.width = width;
  return state;
}

using Stretches = std::vector<std::vector<std::int64_t>>;

Stretches shared(const RankState& from, const RankState& to) {
  Stretches all;
  for (const StateStretch& stretch : shared_stretches(from, to))
    all.push_back({stretch.from, stretch.to, stretch.count});
  return all;
}

}  // namespace

TEST_CASE("golden: elements that follow each other on both ranks are one stretch") {
  // Heads of eight elements: the last two of four are the only ones of the other rank, in a row on both.
  CHECK(shared(part_of("ssm", {0, 1, 2, 3}, 4, 8), part_of("ssm", {2, 3}, 2, 8)) == Stretches{{16, 0, 16}});
  // The other way round they are in its first and last place, so that each is a stretch of its own.
  CHECK(shared(part_of("ssm", {2, 3}, 2, 8), part_of("ssm", {2, 7, 3}, 3, 8)) == Stretches{{0, 0, 8}, {8, 16, 8}});
  // Two steps of six channels, of which the other rank has the second, the third and the last.
  CHECK(shared(part_of("conv", {0, 1, 2, 3, 4, 5}, 2, 6), part_of("conv", {1, 2, 5}, 2, 3)) ==
        Stretches{{1, 0, 2}, {5, 2, 1}, {7, 3, 2}, {11, 5, 1}});
}

TEST_CASE("edge: one type is copied as it is, two by the content that converts the one into the other") {
  const std::vector<Content> contents{{.from_dtype = DType::bf16, .to_dtype = DType::bf16},
                                      {.from_dtype = DType::bf16, .to_dtype = DType::fp8_e4m3},
                                      {.from_dtype = DType::fp32, .to_dtype = DType::bf16}};
  CHECK(content_between(contents, DType::bf16, DType::bf16) == raw_bytes);
  CHECK(content_between(contents, DType::bf16, DType::fp8_e4m3) == 1);
  CHECK(content_between(contents, DType::fp32, DType::bf16) == 2);
  CHECK_THROWS_AS(content_between(contents, DType::bf16, DType::fp32), std::logic_error);
}

TEST_CASE("golden: of one head K and V of each token are copied, row by row") {
  const TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  const TransferMap map = pair.map();
  const TransferRequest request = request_between(map, pair);
  const TransferRanks ranks{map.from(), map.to(), request.from, request.to, request.tokens};
  const RankTokens& from = ranks.from.front().tokens.front();
  const RankTokens& to = ranks.to.front().tokens.front();
  std::vector<Copy> copies;
  add_head_copies(from, 0, to, 0, {3, 5}, raw_bytes, copies);
  REQUIRE(copies.size() == 2 * 2);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto token = static_cast<std::int64_t>(3 + i / 2);
    const bool is_value = i % 2 == 1;
    CHECK(copies[i].from == from.byte_of(from.slot(token), 0, is_value));
    CHECK(copies[i].to == to.byte_of(to.slot(token), 0, is_value));
    CHECK(copies[i].bytes == 16 * 2);  // a head has 16 channels of bf16
    CHECK(copies[i].to_bytes == 16 * 2);
  }
}

TEST_CASE("golden: of a row whose channels lie apart the live bytes are those of its channels alone") {
  const TransferPair pair{small_hybrid(small_gdn), small_engine(2), small_engine(4), 150};
  const TransferMap map = pair.map();
  const TransferRequest request = request_between(map, pair);
  TransferRanks ranks{map.from(), map.to(), request.from, request.to, request.tokens};
  TransferRank& rank = ranks.to.front();
  // Of the first layer, and of token 3 alone, the only head of the rank has 16 channels of two bytes, six bytes apart.
  RankTokens& tokens = rank.tokens.front();
  rank.tokens.erase(rank.tokens.begin() + 1, rank.tokens.end());
  tokens.first_token = 3;
  tokens.end_token = 4;
  tokens.has_values = false;
  REQUIRE(tokens.heads.size() == 1);
  std::vector<Axis> axes(tokens.key.axes().begin(), tokens.key.axes().end());
  axes[static_cast<std::size_t>(tokens.key.find("channel"))].stride = 6;
  tokens.key = Layout(axes, tokens.key.offset());
  const std::int64_t first = tokens.byte_of(tokens.slot(3), 0, false);
  std::vector<ByteRange> channels;
  for (std::int64_t i = 0; i < 16; ++i) channels.push_back({first + 6 * i, first + 6 * i + 2});
  const std::vector<std::vector<ByteRange>> live = live_ranges(rank, LivePart::tokens);
  CHECK(live[static_cast<std::size_t>(tokens.view->view.pool)] == channels);
}

}  // namespace hybridkv::testing
