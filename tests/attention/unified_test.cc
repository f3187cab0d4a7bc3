#include "attention/unified.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/reference.h"
#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"

namespace hybridkv::test {
namespace {

TEST_CASE("golden: the six published cases in fp32 and fp64, every way") {
  for (const std::string& name : case_names) {
    const Case published = load_case(name);
    for (const Batch& batch : {published.batch, published.batch.with_decodes(false)}) {
      for (const UnifiedOptions& options : all_ways()) {
        CAPTURE(name);
        CAPTURE(options.chunk_blocks);
        CHECK(largest_error(unified<float>(batch, options).output, published.expected) <= fp32_tolerance);
        CHECK(largest_error(unified<double>(batch, options).output, published.expected) <= fp64_tolerance);
      }
    }
  }
}

TEST_CASE("golden: 70 shared blocks in chunks of 64 equal the reference, and chunks of 1, 4 and full") {
  const Batch batch = random_batch({.query_lens = {7, 1, 4}, .context_lens = {285, 290, 281},
                                    .is_decode = {false, true, false}, .shared_prefix_blocks = 70, .block_size = 4},
                                   11);
  const AttentionOutput<double> expected = reference(batch);
  for (const UnifiedOptions& options : all_ways()) {
    const auto result = unified<double>(batch, options);
    CHECK(result.blocks.shared.size() > 70);
    CHECK(largest_error(result.output, expected) <= fp64_tolerance);
    CHECK(largest_error(unified<float>(batch, options).output, expected) <= fp32_tolerance);
  }
  const auto chunked = unified<double>(batch);
  CHECK(chunked.memory.biases[1] == Allocation{"block_usages", {12, 128}, 12 * 128 * 4});
  CHECK(chunked.memory.biases[2] == Allocation{"chunk_bias_buffer", {12, 64, 4}, 12 * 64 * 4 * 8});
}

TEST_CASE("law: slice i of the causal part multiplies keys 0 up to (i + 1) w, not one more or less") {
  constexpr std::int64_t width = 4, group = 2;
  for (std::int64_t tokens = 1; tokens <= 3 * width + 1; ++tokens) {
    CAPTURE(tokens);
    // A key too many is masked and leaves no trace in the result, so the work is counted; a key too few is missed
    // there.
    std::int64_t most_scores = 0;
    for (std::int64_t first = 0; first < tokens; first += width) {
      const std::int64_t rows = group * std::min(width, tokens - first);
      most_scores = std::max(most_scores, rows * std::min(tokens, first + width));
    }
    const Batch batch = random_batch({.query_lens = {tokens}, .context_lens = {0}, .is_decode = {false}}, 3);
    const auto result = unified<double>(batch, {.slice_tokens = width});
    CHECK(largest_error(result.output, reference(batch)) <= fp64_tolerance);
    CHECK(bytes_of(result.memory.scratch, "scores") == most_scores * static_cast<std::int64_t>(sizeof(double)));
  }
}

TEST_CASE("law: any of the eight combinations of parts equals the reference over their keys") {
  const Batch batch = mixed_batch();
  const BlockPartition blocks = partition_blocks(batch.metadata, batch.is_decode);
  CHECK(!blocks.shared.empty());
  CHECK(!blocks.unique.empty());
  std::vector<std::int64_t> request_of;
  for (std::int64_t r = 0; r < batch.metadata.num_reqs; ++r)
    request_of.insert(request_of.end(), batch.metadata.query_len(r), r);
  for (int parts = 0; parts < 8; ++parts) {
    UnifiedOptions options{.causal = (parts & 1) != 0, .shared = (parts & 2) != 0, .unique = (parts & 4) != 0,
                           .chunk_blocks = 2};
    const auto expected = reference(batch, [&](std::int64_t token, std::int64_t position) {
      const std::int64_t r = request_of[token];
      if (position >= cached_tokens(batch.metadata, batch.is_decode, r)) return options.causal;
      const std::int64_t block = batch.metadata.block(r, position / batch.metadata.block_size_tokens);
      const bool is_unique = std::any_of(blocks.unique.begin(), blocks.unique.end(),
                                         [&](const UniqueBlock& unique) { return unique.id == block; });
      return is_unique ? options.unique : options.shared;
    });
    CAPTURE(parts);
    for (const MergeMode merge : {MergeMode::online, MergeMode::offline}) {
      options.merge = merge;
      CHECK(largest_error(unified<double>(batch, options).output, expected) <= fp64_tolerance);
      CHECK(largest_error(unified<float>(batch, options).output, expected) <= fp32_tolerance);
    }
    if (parts == 0) CHECK(expected.lse == std::vector<double>(expected.lse.size(), -INFINITY));
    if (parts != 7) CHECK(largest_error(expected, reference(batch)) > 1e-3);
  }
}

TEST_CASE("law: mixed batches equal the reference, every way") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Batch batch = mixed_batch(seed);
    const AttentionOutput<double> expected = reference(batch);
    for (const UnifiedOptions& options : all_ways()) {
      CHECK(largest_error(unified<double>(batch, options).output, expected) <= fp64_tolerance);
      CHECK(largest_error(unified<float>(batch, options).output, expected) <= fp32_tolerance);
    }
  }
}

TEST_CASE("law: random batches equal the reference, with any options") {
  CHECK(rc::check("unified equals reference", [] {
    const Batch batch = random_batch(random_shape(), *rc::gen::arbitrary<std::uint64_t>());
    const UnifiedOptions options{
        .slice_tokens = *rc::gen::inRange<std::int64_t>(1, 10),
        .shared_bias = *rc::gen::element(SharedBiasMode::full, SharedBiasMode::chunked, SharedBiasMode::sparse),
        .chunk_blocks = *rc::gen::inRange<std::int64_t>(1, 10),
        .unique_bias = *rc::gen::element(UniqueBiasMode::contiguous, UniqueBiasMode::gathered),
        .merge = *rc::gen::element(MergeMode::online, MergeMode::offline)};
    const AttentionOutput<double> expected = reference(batch);
    RC_ASSERT(largest_error(unified<double>(batch, options).output, expected) <= fp64_tolerance);
    RC_ASSERT(largest_error(unified<float>(batch, options).output, expected) <= fp32_tolerance);
  }));
}

TEST_CASE("edge: scores of 10,000 stay finite, a token may see every key of its request, more queries than keys") {
  Batch batch = mixed_batch();
  batch.scale *= 10000;
  CHECK(largest_error(unified<double>(batch).output, reference(batch)) <= 1e-8);
  for (const float value : unified<float>(batch).output.lse) CHECK(std::isfinite(value));

  batch = mixed_batch();
  batch.metadata.causal = false;
  CHECK(largest_error(unified<double>(batch, {.slice_tokens = 4}).output, reference(batch)) <= fp64_tolerance);

  batch = random_batch({.query_lens = {34}, .context_lens = {0}, .is_decode = {false}}, 2);
  const std::int64_t one[] = {1}, many[] = {34};
  batch.metadata = make_metadata(many, one, batch.metadata.block_table, 3, 16);
  for (const bool decodes : {false, true}) {
    // The only key is the last new token; it stands in the cache as well.
    batch.metadata.block_table[0] = 1;
    std::copy_n(batch.key_new.end() - 32, 32, batch.key_slot(16).begin());
    std::copy_n(batch.value_new.end() - 32, 32, batch.value_slot(16).begin());
    CHECK(largest_error(unified<double>(batch.with_decodes(decodes)).output, reference(batch)) <= fp64_tolerance);
  }
}

TEST_CASE("edge: more scores than the scratch holds are computed in pieces") {
  const Batch batch = random_batch({.query_lens = {64, 1}, .context_lens = {20000, 20000}, .is_decode = {false, true},
                                    .shared_prefix_blocks = 1250, .head_size_k = 8, .head_size_v = 8},
                                   8);
  const AttentionOutput<double> expected = reference(batch);
  for (const SharedBiasMode mode : {SharedBiasMode::full, SharedBiasMode::chunked}) {
    const auto result = unified<double>(batch, {.shared_bias = mode, .chunk_blocks = 1249});
    CHECK(largest_error(result.output, expected) <= fp64_tolerance);
    const std::int64_t scores = bytes_of(result.memory.scratch, "scores");
    CHECK(scores <= (std::int64_t{1} << 20) * 8);
    CHECK(scores > (std::int64_t{1} << 19) * 8);
    CHECK(bytes_of(result.memory.scratch, "partial_results") == 65 * 4 * (8 + 2) * 8);
  }
  const auto offline = unified<double>(batch, {.merge = MergeMode::offline});
  CHECK(bytes_of(offline.memory.scratch, "partial_results") == 3 * 65 * 4 * (8 + 2) * 8);
}

TEST_CASE("edge: an empty batch gives an empty result, bad options and inputs are refused") {
  const Batch empty = random_batch({.query_lens = {0}, .context_lens = {8}, .is_decode = {false}}, 1);
  CHECK(unified<float>(empty).output.out.empty());
  CHECK(unified<float>(empty).memory.biases.empty());
  const Batch batch = mixed_batch();
  CHECK_THROWS_WITH_AS(unified<float>(batch, {.slice_tokens = 0}), doctest::Contains("slices of 0 tokens"), InputError);
  CHECK_THROWS_WITH_AS(unified<float>(batch, {.chunk_blocks = -1}), doctest::Contains("chunks of -1 blocks"),
                       InputError);
  Batch wrong = batch;
  wrong.query.pop_back();
  CHECK_THROWS_WITH_AS(unified<float>(wrong), doctest::Contains("query has"), InputError);
}

}  // namespace
}  // namespace hybridkv::test
