#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "attention/block_usage.h"
#include "attention/causal_bias.h"
#include "attention/shared_bias.h"
#include "attention/unique_bias.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

constexpr float masked = -std::numeric_limits<float>::infinity();

using Numbers = std::vector<std::int64_t>;

/// "0" where a bias is 0, "-" where it is minus infinity, one text per row.
template <class Real>
std::vector<std::string> drawn(const std::vector<Real>& bias, std::int64_t width) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    if (i % static_cast<std::size_t>(width) == 0) rows.emplace_back();
    rows.back() += bias[i] == 0 ? "0" : bias[i] == -std::numeric_limits<Real>::infinity() ? "-" : "?";
  }
  return rows;
}

TEST_CASE("golden: causal bias of a prompt of 3, a decode, and an extension of 2") {
  auto metadata = make_metadata(Numbers{3, 1, 2}, Numbers{3, 6, 4}, {1, 0, 2, 3, 4, 0}, 2, 4);
  MemoryReport memory;
  CHECK(drawn(causal_bias<float>(metadata, {false, true, false}, memory), 6) ==
        std::vector<std::string>{"0-----", "00----", "000---", "------", "----0-", "----00"});
  CHECK(memory.biases == std::vector<Allocation>{{"causal_bias", {6, 6}, 144}});
  metadata.causal = false;
  CHECK(drawn(causal_bias<double>(metadata, {false, false, false}, memory), 6) ==
        std::vector<std::string>{"000---", "000---", "000---", "---0--", "----00", "----00"});
  CHECK(memory.biases[1] == Allocation{"causal_bias", {6, 6}, 288});
  CHECK(has_causal_part(metadata, {true, true, false}));
  CHECK_FALSE(has_causal_part(metadata, {true, true, true}));
}

TEST_CASE("edge: with more queries than keys the first queries see nothing and are seen by nobody") {
  const auto metadata = make_metadata(Numbers{4}, Numbers{2}, {1}, 1, 4);
  MemoryReport memory;
  CHECK(drawn(causal_bias<float>(metadata, {false}, memory), 4) ==
        std::vector<std::string>{"----", "----", "--0-", "--00"});
}

TEST_CASE("golden: shared bias of two extensions with one block in common") {
  // Request 0: 2 tokens after 6; request 1: 1 token after 4. Block 7 is common, block 9 seen by request 0 only.
  const auto metadata = make_metadata(Numbers{2, 1}, Numbers{8, 5}, {7, 9, 7, 8}, 2, 4);
  const BlockPartition blocks = partition_blocks(metadata, {false, false});
  CHECK(blocks == BlockPartition{{{7, 4}, {9, 2}}, {}});
  MemoryReport memory;
  CHECK(drawn(full_shared_bias<float>(metadata, {false, false}, blocks.shared, memory), 8) ==
        std::vector<std::string>{"000000--", "000000--", "0000----"});
  CHECK(memory.biases == std::vector<Allocation>{{"shared_bias", {3, 2, 4}, 96}});
}

TEST_CASE("law: full, chunked and sparse generators give the same bias") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Batch batch = mixed_batch(seed);
    const auto& [metadata, is_decode] = std::tie(batch.metadata, batch.is_decode);
    const std::vector<SharedBlock> shared = partition_blocks(metadata, is_decode).shared;
    const auto num_shared = static_cast<std::int64_t>(shared.size());
    const std::int64_t tokens = metadata.num_actual_tokens, block_size = metadata.block_size_tokens;
    MemoryReport memory;
    const std::vector<float> full = full_shared_bias<float>(metadata, is_decode, shared, memory);
    const UsageCoordinates coordinates = usage_coordinates(metadata, is_decode, shared, memory);
    CHECK(sparse_shared_bias<float>(coordinates, tokens, num_shared, block_size, memory) == full);
    for (const std::int64_t chunk : {1, 3, 4, 64}) {
      const BlockUsages usages = block_usages(metadata, is_decode, shared, chunk, memory);
      std::vector<float> bias(tokens * chunk * block_size, 99), joined(full.size(), 99);
      for (std::int64_t first = 0; first < num_shared; first += chunk) {
        fill_chunk_bias<float>(usages, first, chunk, block_size, bias);
        const std::int64_t count = std::min(chunk, num_shared - first) * block_size;
        for (std::int64_t token = 0; token < tokens; ++token) {
          const auto from = bias.begin() + token * chunk * block_size;
          std::copy_n(from, count, joined.begin() + (token * num_shared + first) * block_size);
          CHECK(std::all_of(from + count, from + chunk * block_size, [](float value) { return value == masked; }));
        }
      }
      CHECK(joined == full);
    }
  }
}

TEST_CASE("regression: a padding entry of the sparse bias does not mask the last pair") {
  // vllm-gaudi pads its lists with -1, which addresses the last token and the last block.
  const Batch batch = random_batch({.query_lens = {2}, .context_lens = {7}, .is_decode = {false}, .block_size = 4}, 3);
  const std::vector<SharedBlock> shared = partition_blocks(batch.metadata, batch.is_decode).shared;
  MemoryReport memory;
  UsageCoordinates coordinates = usage_coordinates(batch.metadata, batch.is_decode, shared, memory);
  CHECK(coordinates.length == 8);
  CHECK(coordinates.tokens()[3] != UsageCoordinates::padding);
  CHECK(coordinates.tokens()[4] == UsageCoordinates::padding);
  const std::vector<float> full = full_shared_bias<float>(batch.metadata, batch.is_decode, shared, memory);
  CHECK(sparse_shared_bias<float>(coordinates, 2, 2, 4, memory) == full);

  // The published fault, planted: the padding says that the last token sees nothing of the last block.
  coordinates.tokens()[4] = 1;
  coordinates.columns()[4] = 1;
  coordinates.usages()[4] = 0;
  std::vector<float> faulty(16, masked);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t slot = 0; slot < 4; ++slot)
      faulty[(coordinates.tokens()[i] * 2 + coordinates.columns()[i]) * 4 + slot] =
          slot < coordinates.usages()[i] ? 0 : masked;
  CHECK(faulty != full);
}

TEST_CASE("golden: unique bias, contiguous up to the highest id and gathered") {
  const std::vector<UniqueBlock> unique{{1, 0, 3}, {4, 2, 1}};
  MemoryReport memory;
  CHECK(drawn(unique_bias<float>(unique, UniqueBiasMode::contiguous, 4, memory), 4) ==
        std::vector<std::string>{"----", "000-", "----", "----", "0---"});
  CHECK(drawn(unique_bias<float>(unique, UniqueBiasMode::gathered, 4, memory), 4) ==
        std::vector<std::string>{"000-", "0---"});
  CHECK(memory.biases ==
        std::vector<Allocation>{{"unique_bias", {5, 4}, 80}, {"unique_bias", {2, 4}, 32}});
  CHECK(unique_bias_rows({}, UniqueBiasMode::contiguous) == 0);
}

}  // namespace
}  // namespace hybridkv::test
