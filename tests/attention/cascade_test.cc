#include "attention/cascade.h"

#include <doctest/doctest.h>

#include <cmath>

#include "attention/common_prefix.h"
#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"

namespace hybridkv::test {
namespace {

/// Six requests of every kind behind a prefix of 5 blocks of 4.
Batch prefix_batch(std::uint64_t seed = 3) {
  return random_batch({.query_lens = {9, 5, 6, 1, 3, 1}, .context_lens = {20, 21, 30, 26, 23, 33},
                       .is_decode = {false, false, false, true, true, true}, .shared_prefix_blocks = 5,
                       .block_size = 4, .head_size_k = 16, .head_size_v = 24},
                      seed);
}

template <class Real>
CascadeResult<Real> cascade(const Batch& batch, const CascadeOptions& options = {}) {
  const PagedCache cache = lay_out_plain(batch);
  return cascade_attention<Real>(inputs_of(batch, cache), options);
}

TEST_CASE("golden: the six published cases in fp32 and fp64") {
  for (const std::string& name : case_names) {
    CAPTURE(name);
    const Case published = load_case(name);
    for (const std::int64_t tile : {1, 20, 1024}) {
      const CascadeOptions options{.tile_tokens = tile};
      CHECK(largest_error(cascade<float>(published.batch, options).output, published.expected) <= fp32_tolerance);
      CHECK(largest_error(cascade<double>(published.batch, options).output, published.expected) <= fp64_tolerance);
    }
  }
}

TEST_CASE("law: any whole blocks of the common prefix, any tile equal the reference") {
  const Batch batch = prefix_batch();
  const AttentionOutput<double> expected = reference(batch);
  CHECK(cascade<double>(batch).common_prefix_tokens == 20);
  for (const std::int64_t prefix : {0, 4, 8, 12, 16, 20}) {
    for (const std::int64_t tile : {1, 5, 12, 1024}) {
      const CascadeOptions options{prefix, tile};
      CHECK(largest_error(cascade<double>(batch, options).output, expected) <= fp64_tolerance);
      CHECK(largest_error(cascade<float>(batch, options).output, expected) <= fp32_tolerance);
    }
  }
}

TEST_CASE("law: random batches equal the reference, with soft cap and sinks") {
  CHECK(rc::check("cascade equals reference", [] {
    const Batch batch = random_batch(random_shape(), *rc::gen::arbitrary<std::uint64_t>());
    const PagedCache cache = lay_out_plain(batch);
    AttentionInputs inputs = inputs_of(batch, cache);
    inputs.soft_cap = *rc::gen::element(0.0, 1.5);
    const bool causal = *rc::gen::arbitrary<bool>();
    change_metadata(inputs, [&](auto& metadata) { metadata.causal = causal; });
    const std::vector<float> sinks(batch.num_query_heads, 0.75f);
    if (*rc::gen::arbitrary<bool>()) inputs.sinks = sinks;
    const CascadeOptions options{.tile_tokens = *rc::gen::inRange<std::int64_t>(1, 60)};
    const AttentionOutput<double> expected = reference_attention(inputs);
    RC_ASSERT(largest_error(cascade_attention<double>(inputs, options).output, expected) <= fp64_tolerance);
    RC_ASSERT(largest_error(cascade_attention<float>(inputs, options).output, expected) <= fp32_tolerance);
  }));
}

TEST_CASE("fault: a prefix with a block of its own in one request is another result") {
  const Batch batch = prefix_batch();
  const AttentionOutput<double> expected = reference(batch);
  Batch wrong = batch;
  // The table still says that the prefix is common, the second request was computed over another third block.
  wrong.metadata.block_table[2 + batch.metadata.max_blocks_per_req] = wrong.metadata.block_table[0] == 1 ? 2 : 1;
  CHECK(common_prefix_tokens(wrong.metadata) == 8);
  CHECK(largest_error(cascade<double>(batch).output, reference(wrong)) > 1e-3);
  CHECK(largest_error(cascade<double>(batch).output, expected) <= fp64_tolerance);
}

TEST_CASE("golden: the scratch does not grow with the sequences, the prefix is read once") {
  // A tile of keys, the queries, two partial results: 16 KV tokens a tile, 2 query tokens of 4 heads of 16 channels.
  const auto scratch = [](std::int64_t context) {
    const Batch batch = random_batch({.query_lens = {1, 1}, .context_lens = {context, context},
                                      .is_decode = {true, true}, .shared_prefix_blocks = context / 16},
                                     4);
    const auto result = cascade<float>(batch, {.tile_tokens = 16});
    CHECK(result.common_prefix_tokens == context);
    CHECK(bytes_of(result.memory.scratch, "key_tile") == 16 * 16 * 4);
    CHECK(bytes_of(result.memory.scratch, "value_tile") == 16 * 16 * 4);
    CHECK(bytes_of(result.memory.scratch, "partial_results") == 2 * 2 * 4 * (16 + 2) * 4);
    // Both tokens see all keys of every tile, of the last one of the prefix too: they share one row of the bias.
    CHECK(bytes_of(result.memory.biases, "suffix_bias") == 16 * 4);
    return total_bytes(result.memory.scratch) + total_bytes(result.memory.biases);
  };
  CHECK(scratch(64) == scratch(640));
}

TEST_CASE("edge: an empty batch, what the cascade does not do, a prefix that is none") {
  const Batch empty = random_batch({.query_lens = {0}, .context_lens = {8}, .is_decode = {false}}, 1);
  CHECK(cascade<float>(empty).output.out.empty());
  const Batch batch = prefix_batch();
  const auto refused = [&](const CascadeOptions& options, const char* message) {
    CHECK_THROWS_WITH_AS(cascade<float>(batch, options), doctest::Contains(message), InputError);
  };
  refused({24}, "a common prefix of 24 tokens; it must be a multiple of the block of 4 tokens and at most the 20");
  refused({6}, "a common prefix of 6 tokens");
  refused({-4}, "a common prefix of -4 tokens");
  refused({.tile_tokens = 0}, "tiles of 0 tokens");
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs windowed = inputs_of(batch, cache);
  windowed.mask = {MaskKind::sliding_window, 12};
  CHECK_THROWS_WITH_AS(cascade_attention<float>(windowed), doctest::Contains("a sliding_window mask of 12 tokens"),
                       InputError);
}

}  // namespace
}  // namespace hybridkv::test
