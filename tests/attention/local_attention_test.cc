#include "attention/local_attention.h"

#include <doctest/doctest.h>

#include <numeric>

#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"

namespace hybridkv::test {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Three requests that own the blocks 0 to 9, 10 to 19 and 20 to 29.
CommonAttentionMetadata three_requests(std::int64_t columns = 10) {
  Numbers table;
  for (std::int64_t request = 0; request < 3; ++request)
    for (std::int64_t column = 0; column < columns; ++column) table.push_back(request * 10 + column);
  return make_metadata(Numbers{4, 10, 5}, Numbers{6, 17, 9}, table, columns, 2);
}

TEST_CASE("golden: chunks of four over three requests, as published") {
  const CommonAttentionMetadata original = three_requests();
  const auto [local, source] = local_attention_batches(original, 4);
  CHECK(local.query_start_loc == Numbers{0, 2, 4, 5, 9, 13, 14, 18, 19});
  CHECK(local.seq_lens == Numbers{4, 2, 4, 4, 4, 1, 4, 1});
  CHECK(local.num_computed_tokens == Numbers{2, 0, 3, 0, 0, 0, 0, 0});
  CHECK(local.max_blocks_per_req == 2);
  CHECK(local.block_table == Numbers{0, 1, 2, 3, 12, 13, 14, 15, 16, 17, 18, 19, 22, 23, 24, 25});
  CHECK(source == Numbers{0, 0, 1, 1, 1, 1, 2, 2});
  CHECK(local.num_reqs == 8);
  CHECK(local.num_actual_tokens == 19);
  CHECK(local.max_query_len == 4);
  CHECK(local.max_seq_len == 4);
  CHECK(local.slot_mapping == original.slot_mapping);
  CHECK(local.causal);
  CHECK_NOTHROW(check_metadata(local));
}

TEST_CASE("edge: blocks beyond the last column of the table repeat it, behind the sequence") {
  // Nine columns hold the 17 tokens of the second request; its last chunk would take a tenth.
  const CommonAttentionMetadata local = local_attention_batches(three_requests(9), 4).metadata;
  CHECK(local.block_table == Numbers{0, 1, 2, 3, 12, 13, 14, 15, 16, 17, 18, 18, 22, 23, 24, 25});
  CHECK_NOTHROW(check_metadata(local));
}

TEST_CASE("law: full attention over the virtual batch equals a reference with every key filtered by its chunk") {
  CHECK(rc::check("virtual batches", [] {
    BatchShape shape = random_shape();
    const std::int64_t chunk = shape.block_size * *rc::gen::inRange<std::int64_t>(1, 5);
    const Batch batch = random_batch(shape, *rc::gen::arbitrary<std::uint64_t>());
    Numbers position;
    for (std::int64_t r = 0; r < batch.metadata.num_reqs; ++r)
      for (std::int64_t i = 0; i < batch.metadata.query_len(r); ++i) position.push_back(batch.metadata.position(r, i));
    const auto filtered = reference(batch, [&](std::int64_t token, std::int64_t key) {
      return key / chunk == position[token] / chunk;
    });
    const PagedCache cache = lay_out_plain(batch);
    AttentionInputs masked = inputs_of(batch, cache);
    masked.mask = {MaskKind::chunked_local, chunk};
    const AttentionInputs local = local_attention_inputs(masked);
    RC_ASSERT(largest_error(reference_attention(masked), filtered) <= fp64_tolerance);
    RC_ASSERT(largest_error(reference_attention(local), filtered) <= fp64_tolerance);
    RC_ASSERT(largest_error(unified_attention<double>(local).output, filtered) <= fp64_tolerance);
    RC_ASSERT(largest_error(unified_attention<float>(local).output, filtered) <= fp32_tolerance);
    RC_ASSERT(local.metadata->slot_mapping == batch.metadata.slot_mapping);
  }));
}

TEST_CASE("fault: a virtual batch that starts at the block of its first query token is another result") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs masked = inputs_of(batch, cache);
  masked.mask = {MaskKind::chunked_local, 8};
  AttentionInputs local = local_attention_inputs(masked);
  const auto expected = reference_attention(masked);
  CHECK(largest_error(reference_attention(local), expected) <= fp64_tolerance);
  change_metadata(local, [](auto& metadata) { std::swap(metadata.block_table[2], metadata.block_table[3]); });
  CHECK(largest_error(reference_attention(local), expected) > 1e-3);
}

TEST_CASE("edge: blocks behind the chunk may be gone, tokens before the sequence stay without keys") {
  CommonAttentionMetadata metadata = three_requests();
  // The second request stands in its second chunk; the pool has taken the blocks of the first back.
  metadata.block_table[10] = metadata.block_table[11] = 0;
  CHECK(local_attention_batches(metadata, 4).metadata.block_table[4] == 12);

  const auto more_queries = make_metadata(Numbers{9, 0, 3}, Numbers{5, 6, 0}, {1, 2, 3, 4, 5, 6, 0, 0, 0}, 3, 2);
  const auto [local, source] = local_attention_batches(more_queries, 4);
  CHECK(local.query_start_loc == Numbers{0, 8, 9, 12});
  CHECK(local.seq_lens == Numbers{4, 1, 0});
  CHECK(local.num_computed_tokens == Numbers{-4, 0, -3});
  CHECK(source == Numbers{0, 0, 2});

  const auto no_columns = make_metadata(Numbers{2}, Numbers{0}, {}, 0, 2);
  CHECK(local_attention_batches(no_columns, 4).metadata.seq_lens == Numbers{0});
}

TEST_CASE("edge: a chunk that is no multiple of the block is refused with the numbers") {
  const auto refused = [](std::int64_t chunk, const char* message) {
    CHECK_THROWS_WITH_AS(local_attention_batches(three_requests(), chunk), doctest::Contains(message), InputError);
  };
  refused(5, "chunks of 5 tokens do not consist of whole blocks of 2");
  refused(0, "chunks of 0 tokens");
  refused(-4, "chunks of -4 tokens");
  CommonAttentionMetadata both_ways = three_requests();
  both_ways.causal = false;
  CHECK_THROWS_WITH_AS(local_attention_batches(both_ways, 4), doctest::Contains("causal"), InputError);
  CommonAttentionMetadata broken = three_requests();
  broken.seq_lens.pop_back();
  CHECK_THROWS_WITH_AS(local_attention_batches(broken, 4), doctest::Contains("seq_lens has 2 entries"), InputError);
}

}  // namespace
}  // namespace hybridkv::test
