#include "attention/block_usage.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

using Numbers = std::vector<std::int64_t>;
using Usages = std::map<std::int64_t, std::vector<std::int32_t>>;

Usages usages_of(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode) {
  Usages result;
  for_each_block_use(metadata, is_decode, [&](const BlockUse& use) {
    result[use.block] = {use.usages.begin(), use.usages.end()};
  });
  return result;
}

/// Slots of a block that a token sees, counted key by key from the definition of cached tokens.
std::int32_t count_usage(const Batch& batch, std::int64_t request, std::int64_t i, std::int64_t column) {
  const CommonAttentionMetadata& metadata = batch.metadata;
  std::int32_t count = 0;
  for (std::int64_t slot = 0; slot < metadata.block_size_tokens; ++slot) {
    const std::int64_t position = column * metadata.block_size_tokens + slot;
    const bool is_cached =
        position < metadata.num_computed_tokens[request] + (batch.is_decode[request] ? metadata.query_len(request) : 0);
    if (is_cached && position <= metadata.num_computed_tokens[request] + i) ++count;
  }
  return count;
}

TEST_CASE("golden: cached tokens are the context of a prompt, and the new tokens too of a decode") {
  const auto metadata = make_metadata(Numbers{4, 1}, Numbers{7, 10}, {1, 2, 0, 3, 4, 5}, 3, 4);
  CHECK(cached_tokens(metadata, {false, true}, 0) == 3);
  CHECK(cached_tokens(metadata, {false, true}, 1) == 10);
}

TEST_CASE("golden: usages of a prompt chunk and of a decode with two tokens after 6 cached ones") {
  auto metadata = make_metadata(Numbers{2}, Numbers{8}, {5, 9}, 2, 4);
  CHECK(usages_of(metadata, {false}) == Usages{{5, {4, 4}}, {9, {2, 2}}});
  CHECK(usages_of(metadata, {true}) == Usages{{5, {4, 4}}, {9, {3, 4}}});
  metadata.causal = false;
  CHECK(usages_of(metadata, {true}) == Usages{{5, {4, 4}}, {9, {4, 4}}});
  CHECK(usages_of(metadata, {false}) == Usages{{5, {4, 4}}, {9, {2, 2}}});
}

TEST_CASE("edge: of a block that ends where a token's window begins the token sees nothing, from no slot on") {
  // A decode of two tokens at positions 3 and 4, each of which sees itself alone: the first one in block 5.
  const auto metadata = make_metadata(Numbers{2}, Numbers{5}, {5, 9}, 2, 4);
  std::vector<std::vector<std::int32_t>> starts, usages;
  for_each_block_use(metadata, {true}, [&](const BlockUse& use) {
    starts.emplace_back(use.starts.begin(), use.starts.end());
    usages.emplace_back(use.usages.begin(), use.usages.end());
  }, {MaskKind::sliding_window, 1});
  CHECK(starts == std::vector<std::vector<std::int32_t>>{{3, 0}, {0, 0}});
  CHECK(usages == std::vector<std::vector<std::int32_t>>{{4, 0}, {0, 1}});
}

TEST_CASE("golden: shared and unique blocks of the six published cases, both partitions") {
  for (const std::string& name : case_names) {
    const Case published = load_case(name);
    for (const bool all_prompts : {true, false}) {
      CAPTURE(name);
      CAPTURE(all_prompts);
      const auto& expected = published.json[all_prompts ? "all_prompt_partition" : "decode_cached_partition"];
      const Batch batch = all_prompts ? published.batch.with_decodes(false) : published.batch;
      const BlockPartition blocks = partition_blocks(batch.metadata, batch.is_decode);
      Numbers shared, unique;
      for (const SharedBlock& block : blocks.shared) shared.push_back(block.id);
      for (const UniqueBlock& block : blocks.unique) unique.push_back(block.id);
      CHECK(shared == expected["shared_blocks"].get<Numbers>());
      CHECK(unique == expected["unique_block_ids"].get<Numbers>());
    }
  }
}

TEST_CASE("fault: taking a decode for a prompt gives another partition") {
  const Case published = load_case("doc_example");
  const Batch batch = published.batch;
  CHECK(!(partition_blocks(batch.metadata, batch.is_decode) ==
          partition_blocks(batch.metadata, batch.with_decodes(false).is_decode)));
}

TEST_CASE("law: the dense table and the coordinates say what counting key by key says") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Batch batch = mixed_batch(seed);
    const auto [shared, unique] = partition_blocks(batch.metadata, batch.is_decode);
    MemoryReport memory;
    const BlockUsages dense = block_usages(batch.metadata, batch.is_decode, shared, 4, memory);
    CHECK(dense.num_columns % 4 == 0);
    CHECK(dense.num_columns >= static_cast<std::int64_t>(shared.size()));
    std::vector<std::int32_t> expected(dense.values.size());
    std::map<std::int64_t, std::set<std::int64_t>> seen_by;
    for (std::int64_t r = 0; r < batch.metadata.num_reqs; ++r) {
      for (std::int64_t i = 0; i < batch.metadata.query_len(r); ++i) {
        const std::int64_t token = batch.metadata.query_start_loc[r] + i;
        for (std::int64_t column = 0; column < batch.metadata.max_blocks_per_req; ++column) {
          const std::int32_t usage = count_usage(batch, r, i, column);
          const std::int64_t id = batch.metadata.block(r, column);
          if (usage > 0) seen_by[id].insert(token);
          for (std::size_t s = 0; s < shared.size(); ++s)
            if (shared[s].id == id && usage > 0)
              expected[token * dense.num_columns + static_cast<std::int64_t>(s)] = usage;
        }
      }
    }
    CHECK(dense.values == expected);
    for (const SharedBlock& block : shared) CHECK(seen_by[block.id].size() > 1);
    for (const UniqueBlock& block : unique) CHECK(seen_by[block.id] == std::set<std::int64_t>{block.token});
    CHECK(seen_by.size() == shared.size() + unique.size());

    const UsageCoordinates sparse = usage_coordinates(batch.metadata, batch.is_decode, shared, memory);
    CHECK(sparse.length % (static_cast<std::int64_t>(shared.size()) * 4) == 0);
    std::vector<std::int32_t> scattered(dense.values.size());
    for (std::int64_t i = 0; i < sparse.length; ++i)
      if (sparse.tokens()[i] != UsageCoordinates::padding)
        scattered[sparse.tokens()[i] * dense.num_columns + sparse.columns()[i]] = sparse.usages()[i];
    CHECK(scattered == expected);
  }
}

}  // namespace
}  // namespace hybridkv::test
