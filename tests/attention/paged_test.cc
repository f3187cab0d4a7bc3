#include "attention/paged.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "attention/cascade.h"
#include "attention/unified.h"
#include "base/error.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

constexpr float paged_nan = std::numeric_limits<float>::quiet_NaN();

bool same_words(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}
bool same_words(const AttentionOutput<float>& a, const AttentionOutput<float>& b) {
  return same_words(a.out, b.out) && same_words(a.lse, b.lse);
}

/// Every path, and where it can round weights both ways.
std::vector<PagedOptions> all_options(DType value_dtype) {
  std::vector<PagedOptions> all;
  for (const SimdPath path : available_simd_paths())
    for (const bool round_weights : {false, true}) {
      const PagedOptions options{1, path, round_weights};
      if (!round_weights || rounds_weights(options, value_dtype)) all.push_back(options);
    }
  return all;
}

/// What rounding may change: 2^-9 of the largest |V|; of the normally distributed ones here none reaches 5.
double allowed(const PagedOptions& options, double tolerance = fp32_tolerance) {
  return options.round_weights ? tolerance + std::ldexp(5.0, -9) : tolerance;
}

/// Every path against the reference, and every number of threads against one, bit for bit.
void check_paged(const AttentionInputs& inputs, double tolerance = fp32_tolerance) {
  const AttentionOutput<double> expected = reference_attention(inputs);
  AttentionOutput<float> exact;
  for (PagedOptions options : all_options(inputs.value.dtype)) {
    CAPTURE(to_string(*options.simd));
    CAPTURE(options.round_weights);
    const AttentionOutput<float> one = paged_attention(inputs, options).output;
    CHECK(largest_error(one, expected) <= allowed(options, tolerance));
    if (options.round_weights) CHECK(same_words(one.lse, exact.lse));
    for (const std::int64_t threads : {2, 3, 7}) {
      options.threads = threads;
      CHECK(same_words(paged_attention(inputs, options).output, one));
    }
    exact = one;
  }
}

/// Contexts of several splits, a prefix of 50 blocks that four requests share, a prompt chunk.
Batch long_batch(std::int64_t kv_heads, std::int64_t head_size, std::uint64_t seed = 11) {
  return random_batch({.query_lens = {1, 3, 70, 1, 1}, .context_lens = {1500, 1200, 1100, 600, 0},
                       .is_decode = {true, true, false, true, true}, .shared_prefix_blocks = 50, .block_size = 24,
                       .num_query_heads = 6, .num_kv_heads = kv_heads, .head_size_k = head_size,
                       .head_size_v = head_size},
                      seed);
}

TEST_CASE("law: every path equals the reference on a mixed batch, in every element type") {
  const Batch batch = mixed_batch();
  for (const DType dtype : all_dtypes) {
    CAPTURE(to_string(dtype));
    const PagedCache cache = lay_out(batch, {.form = BackendForm::diff_kv, .dtype = dtype});
    check_paged(inputs_of(batch, cache));
  }
}

TEST_CASE("law: long contexts, shared prefixes and splits over threads") {
  for (const std::int64_t kv_heads : {1, 2, 6})
    for (const std::int64_t kernel_block : {8, 24}) {
      const Batch batch = long_batch(kv_heads, kernel_block == 8 ? 80 : 64);
      const PagedCache cache = lay_out(batch, {.order = PhysicalOrder::hnd, .dtype = DType::bf16,
                                               .kernel_block_size_tokens = kernel_block, .pack_size = 3}, 1);
      check_paged(inputs_of(batch, cache));
    }
}

TEST_CASE("law: windows, chunks, soft cap and sinks") {
  const Batch batch = long_batch(2, 48);
  const PagedCache cache = lay_out(batch, {.dtype = DType::fp16});
  const std::vector<float> sinks{0.5f, -2, 3, -std::numeric_limits<float>::infinity(), 0, 1};
  for (const KeyMask& mask : {KeyMask{}, KeyMask{MaskKind::sliding_window, 1}, KeyMask{MaskKind::sliding_window, 100},
                              KeyMask{MaskKind::sliding_window, 700}, KeyMask{MaskKind::chunked_local, 64},
                              KeyMask{MaskKind::chunked_local, 900}})
    for (const double cap : {0.0, 2.0, 30.0}) {
      AttentionInputs inputs = inputs_of(batch, cache);
      inputs.mask = mask;
      inputs.soft_cap = cap;
      if (cap != 2.0) inputs.sinks = sinks;
      check_paged(inputs);
    }
}

TEST_CASE("law: a latent whose first channels are the values") {
  Batch batch = random_batch({.query_lens = {5, 1, 1}, .context_lens = {40, 700, 33}, .is_decode = {false, true, true},
                              .block_size = 16, .num_query_heads = 20, .num_kv_heads = 1, .head_size_k = 72,
                              .head_size_v = 64},
                             3);
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    const PagedCache cache = lay_out(batch, {.form = BackendForm::mla, .dtype = dtype});
    check_paged(inputs_of(batch, cache), 4e-6);
  }
}

TEST_CASE("law: a token gets the same bits alone and in any batch") {
  const Batch batch = long_batch(2, 64);
  const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
  const AttentionInputs whole = inputs_of(batch, cache);
  for (const PagedOptions& options : all_options(DType::bf16)) {
    const AttentionOutput<float> together = paged_attention(whole, options).output;
    const CommonAttentionMetadata& all = *whole.metadata;
    const std::int64_t row = whole.num_query_heads * whole.head_size_k();
    for (std::int64_t request = 0; request < all.num_reqs; ++request)
      for (std::int64_t i = 0; i < all.query_len(request); i += 23) {
        AttentionInputs alone = whole;
        const std::int64_t token = all.query_start_loc[request] + i, one[] = {1};
        const std::int64_t length[] = {all.position(request, i) + 1};
        const auto first = all.block_table.begin() + request * all.max_blocks_per_req;
        alone.metadata = std::make_shared<const CommonAttentionMetadata>(
            make_metadata(one, length, {first, first + all.max_blocks_per_req}, all.max_blocks_per_req,
                          all.block_size_tokens));
        alone.is_decode = {true};
        alone.query = whole.query.subspan(token * row, row);
        const std::int64_t kv_row = whole.num_kv_heads() * whole.head_size_k();
        alone.key_new = whole.key_new.subspan(token * kv_row, kv_row);
        alone.value_new = whole.value_new.subspan(token * kv_row, kv_row);
        const AttentionOutput<float> result = paged_attention(alone, options).output;
        CHECK(same_words(result.out, std::span(together.out).subspan(token * row, row)));
      }
  }
}

TEST_CASE("law: unified and cascade have the same bits on any number of threads") {
  for (const std::int64_t kv_heads : {1, 2, 6}) {
    const Batch batch = long_batch(kv_heads, 48);
    const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
    const AttentionInputs inputs = inputs_of(batch, cache);
    UnifiedOptions unified{.chunk_blocks = 16};
    CascadeOptions cascade{.tile_tokens = 100};
    const AttentionOutput<float> one_unified = unified_attention<float>(inputs, unified).output;
    const AttentionOutput<float> one_cascade = cascade_attention<float>(inputs, cascade).output;
    for (const std::int64_t threads : {0, 2, 3, 7}) {
      unified.threads = cascade.threads = threads;
      CHECK(same_words(unified_attention<float>(inputs, unified).output, one_unified));
      CHECK(same_words(cascade_attention<float>(inputs, cascade).output, one_cascade));
    }
  }
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  CHECK_THROWS_WITH_AS(unified_attention<float>(inputs_of(batch, cache), {.threads = -1}),
                       "unified attention: -1 threads; take at least 1, or 0 for one per core", InputError);
  CHECK_THROWS_WITH_AS(cascade_attention<float>(inputs_of(batch, cache), CascadeOptions{.threads = -1}),
                       "cascade attention: -1 threads; take at least 1, or 0 for one per core", InputError);
}

TEST_CASE("law: queries of bf16 get the same bits beside others that are not") {
  Batch batch = long_batch(2, 40);
  const std::int64_t row = 6 * 40;
  for (std::int64_t i = 0; i < row; ++i) batch.query[i] = std::round(batch.query[i] * 8) / 8;
  const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
  Batch all = batch;
  for (float& value : all.query) value = std::round(value * 8) / 8;
  for (const SimdPath path : available_simd_paths()) {
    CAPTURE(to_string(path));
    const AttentionOutput<float> mixed = paged_attention(inputs_of(batch, cache), {1, path}).output;
    const AttentionOutput<float> rounded = paged_attention(inputs_of(all, cache), {1, path}).output;
    CHECK(same_words(std::span(mixed.out).first(row), std::span(rounded.out).first(row)));
    CHECK_FALSE(same_words(std::span(mixed.out).subspan(row), std::span(rounded.out).subspan(row)));
  }
}

TEST_CASE("law: every path equals the reference at odd head sizes, tile edges and partial blocks") {
  for (const std::int64_t head_size : {1, 2, 3, 7, 8, 9, 15, 17, 31, 36, 66, 130})
    for (const std::int64_t context : {62, 63, 64, 511, 512, 575}) {
      CAPTURE(head_size);
      CAPTURE(context);
      const Batch batch = random_batch({.query_lens = {1, 2, 1}, .context_lens = {context, context - 1, 3},
                                        .is_decode = {true, true, true}, .block_size = 24, .num_query_heads = 6,
                                        .num_kv_heads = 2, .head_size_k = head_size, .head_size_v = head_size},
                                       13);
      for (const DType dtype : {DType::fp32, DType::bf16, DType::fp8_e4m3}) {
        CAPTURE(to_string(dtype));
        const PagedCache cache = lay_out(batch, {.dtype = dtype});
        check_paged(inputs_of(batch, cache));
      }
    }
}

TEST_CASE("fault: a tile's last key, a block's last slot and a sink count: without them results differ") {
  for (const std::int64_t context : {63, 127, 511, 520}) {
    const Batch batch = random_batch({.query_lens = {1}, .context_lens = {context}, .is_decode = {true},
                                      .block_size = 24, .num_query_heads = 4, .num_kv_heads = 1, .head_size_k = 32,
                                      .head_size_v = 32},
                                     7);
    const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
    const std::vector<float> sinks{1, 2, 0, -1};
    AttentionInputs inputs = inputs_of(batch, cache);
    inputs.sinks = sinks;
    const AttentionOutput<double> expected = reference_attention(inputs);
    const auto differs = [&](const AttentionInputs& faulty) {
      for (const SimdPath path : available_simd_paths())
        if (!(largest_error(paged_attention(faulty, {1, path}).output, expected) > 20 * fp32_tolerance)) return false;
      return true;
    };
    CHECK_FALSE(differs(inputs));
    // One key of the tile or of the last, partial block left out: the window takes the first one away.
    AttentionInputs faulty = inputs;
    faulty.mask = {MaskKind::sliding_window, context};
    CHECK(differs(faulty));
    std::vector<float> twice = sinks;
    for (float& sink : twice) sink += std::log(2.0f);  // what merging it a second time amounts to
    faulty = inputs;
    faulty.sinks = twice;
    CHECK(differs(faulty));
    // The last key is that of the token itself.
    Batch moved = batch;
    for (float& value : moved.value_slot(batch.metadata.slot_mapping[0])) value = 0;
    const PagedCache moved_cache = lay_out(moved, {.dtype = DType::bf16});
    faulty = inputs_of(moved, moved_cache);
    faulty.sinks = sinks;
    CHECK(differs(faulty));
  }
}

/// Whether results are finite where those expected are, and within what is allowed there, and infinite or NaN as they.
bool agrees(std::span<const float> result, std::span<const double> expected, double allowed_error) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i]) ? !(std::abs(result[i] - expected[i]) <= allowed_error)
        : std::isnan(expected[i])  ? !std::isnan(result[i])
                                   : result[i] != expected[i])
      return false;
  }
  return result.size() == expected.size();
}

TEST_CASE("edge: NaN and infinity reach only the tokens that see them") {
  const std::int64_t chunk = 2;
  for (const float poison : {paged_nan, std::numeric_limits<float>::infinity()})
    for (const std::int64_t bad : {29, 30})  // at an odd and at an even position, which share pairs with others
      for (const std::int64_t window : {0, 8, 9})
        for (const DType dtype : {DType::fp32, DType::bf16}) {
          Batch batch = long_batch(2, 64);
          const std::int64_t token = batch.metadata.query_start_loc[chunk] + bad;
          for (float& value : batch.value_slot(batch.metadata.slot_mapping[token])) value = poison;
          const PagedCache cache = lay_out(batch, {.dtype = dtype});
          AttentionInputs inputs = inputs_of(batch, cache);
          if (window > 0) inputs.mask = {MaskKind::sliding_window, window};
          const AttentionOutput<double> expected = reference_attention(inputs);
          CHECK_FALSE(std::isfinite(expected.out[token * 6 * 64]));
          for (const PagedOptions& options : all_options(dtype)) {
            CAPTURE(to_string(*options.simd));
            CAPTURE(options.round_weights);
            CAPTURE(bad);
            CAPTURE(window);
            CHECK(agrees(paged_attention(inputs, options).output.out, expected.out, allowed(options)));
          }
        }
}

TEST_CASE("law: what a token does not see changes no bit of its result, NaN and infinity included") {
  for (const DType dtype : {DType::fp32, DType::bf16})
    for (const std::int64_t head_size : {24, 64}) {
      const Batch clean = long_batch(2, head_size);
      const std::int64_t chunk = clean.metadata.query_start_loc[2], bad = 30, row = 6 * head_size;
      const PagedCache clean_cache = lay_out(clean, {.dtype = dtype});
      for (const PagedOptions& options : all_options(dtype)) {
        CAPTURE(to_string(*options.simd));
        CAPTURE(options.round_weights);
        const AttentionOutput<float> expected = paged_attention(inputs_of(clean, clean_cache), options).output;
        for (const float poison : {paged_nan, std::numeric_limits<float>::infinity()}) {
          Batch batch = clean;
          const std::int64_t slot = batch.metadata.slot_mapping[chunk + bad];
          for (float& value : batch.value_slot(slot)) value = poison;
          const PagedCache cache = lay_out(batch, {.dtype = dtype});
          const AttentionOutput<float> result = paged_attention(inputs_of(batch, cache), options).output;
          CHECK(same_words(std::span(result.out).first((chunk + bad) * row),
                           std::span(expected.out).first((chunk + bad) * row)));
          CHECK_FALSE(std::isfinite(result.out[(chunk + bad) * row]));
        }
      }
    }
}

TEST_CASE("law: in tiles the parts of queries and weights make up for what bf16 drops") {
  if (!is_available(SimdPath::amx)) {
    MESSAGE("SKIPPED: this processor multiplies no tiles");
    return;
  }
  for (const std::int64_t query_len : {1, 5, 40})
    for (const std::int64_t head_size : {1, 31, 32, 33, 96, 130}) {
      CAPTURE(query_len);
      CAPTURE(head_size);
      Batch batch = random_batch({.query_lens = {query_len}, .context_lens = {600}, .is_decode = {false},
                                  .block_size = 24, .num_query_heads = 6, .num_kv_heads = 2,
                                  .head_size_k = head_size, .head_size_v = head_size},
                                 17);
      const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
      const auto error = [&](bool round_weights) {
        const AttentionInputs inputs = inputs_of(batch, cache);
        return largest_error(paged_attention(inputs, {1, SimdPath::amx, round_weights}).output,
                             reference_attention(inputs));
      };
      CHECK(error(false) <= fp32_tolerance);
      CHECK(error(true) > 10 * error(false));  // so that rounding would be seen
    }
}

TEST_CASE("edge: infinity in the first key that a decode sees stays infinity, whatever lies beside it") {
  for (const std::int64_t context : {20, 21})
    for (const std::int64_t window : {7, 8}) {
      Batch batch = random_batch({.query_lens = {1}, .context_lens = {context}, .is_decode = {true}, .block_size = 8,
                                  .num_query_heads = 4, .num_kv_heads = 1, .head_size_k = 32, .head_size_v = 32},
                                 3);
      const std::int64_t first = context + 1 - window;
      for (float& value : batch.value_slot(batch.metadata.block(0, first / 8) * 8 + first % 8))
        value = std::numeric_limits<float>::infinity();
      const PagedCache cache = lay_out(batch, {.dtype = DType::bf16});
      AttentionInputs inputs = inputs_of(batch, cache);
      inputs.mask = {MaskKind::sliding_window, window};
      const AttentionOutput<double> expected = reference_attention(inputs);
      CHECK(std::isinf(expected.out[0]));
      for (const PagedOptions& options : all_options(DType::bf16))
        CHECK(agrees(paged_attention(inputs, options).output.out, expected.out, 0));
    }
}

TEST_CASE("law: random batches through every path") {
  CHECK(rc::check("paged equals the reference", [] {
    const auto below = [](int least, int limit) { return static_cast<std::int64_t>(*rc::gen::inRange(least, limit)); };
    BatchShape shape;
    const std::int64_t requests = below(1, 6);
    for (std::int64_t i = 0; i < requests; ++i) {
      shape.query_lens.push_back(below(1, 20));
      shape.context_lens.push_back(below(0, 300));
      shape.is_decode.push_back(*rc::gen::arbitrary<bool>());
    }
    shape.block_size = below(1, 40);
    shape.shared_prefix_blocks = below(0, 12);
    shape.num_kv_heads = below(1, 4);
    shape.num_query_heads = shape.num_kv_heads * below(1, 9);
    shape.head_size_k = shape.head_size_v = below(1, 40);
    const Batch batch = random_batch(shape, 5);
    const DType dtype = *rc::gen::elementOf(std::vector<DType>{DType::fp32, DType::bf16, DType::fp16, DType::fp8_e4m3,
                                                               DType::fp8_e5m2});
    const PagedCache cache = lay_out(batch, {.dtype = dtype});
    AttentionInputs inputs = inputs_of(batch, cache);
    if (*rc::gen::arbitrary<bool>()) inputs.mask = {MaskKind::sliding_window, below(1, 200)};
    const AttentionOutput<double> expected = reference_attention(inputs);
    for (PagedOptions options : all_options(dtype)) {
      const AttentionOutput<float> one = paged_attention(inputs, options).output;
      RC_ASSERT(largest_error(one, expected) <= allowed(options));
      options.threads = 3;
      RC_ASSERT(same_words(paged_attention(inputs, options).output, one));
    }
  }));
}

TEST_CASE("law: scratch does not grow with the context, and there is no bias") {
  const auto scratch = [](std::int64_t context) {
    const Batch batch = random_batch({.query_lens = {1, 1}, .context_lens = {context, context},
                                      .is_decode = {true, true}, .num_query_heads = 8, .head_size_k = 64,
                                      .head_size_v = 64},
                                     1);
    const PagedCache cache = lay_out_plain(batch);
    const PagedResult result = paged_attention(inputs_of(batch, cache));
    CHECK(result.memory.biases.empty());
    return total_bytes(result.memory.scratch);
  };
  CHECK(scratch(100) > 0);
  CHECK(scratch(100) == scratch(4000));
}

TEST_CASE("golden: splits of a long decode are merged from a result, a maximum and a sum each") {
  const Batch batch = random_batch({.query_lens = {1}, .context_lens = {8191}, .is_decode = {true},
                                    .num_query_heads = 8, .num_kv_heads = 1, .head_size_k = 64, .head_size_v = 64},
                                   1);
  const PagedCache cache = lay_out_plain(batch);
  const PagedResult result = paged_attention(inputs_of(batch, cache), {.threads = 2});
  CHECK(bytes_of(result.memory.scratch, "split_results") == 8 * (8192 / paged_split_tokens) * (64 + 2) * 4);
}

TEST_CASE("edge: options that cannot be") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  CHECK_THROWS_WITH_AS(paged_attention(inputs_of(batch, cache), {-1, {}}),
                       "paged attention: -1 threads; take at least 1, or 0 for one per core", InputError);
  CHECK(parse_simd_path("avx2") == SimdPath::avx2);
  CHECK_FALSE(parse_simd_path("sse9").has_value());
  CHECK(is_available(SimdPath::plain));
  for (const SimdPath path : all_simd_paths) {
    CHECK(parse_simd_path(to_string(path)) == path);
    if (is_available(path)) continue;
    MESSAGE("SKIPPED: no test here runs on ", to_string(path), ", which this processor does not have");
    CHECK_THROWS_WITH_AS(paged_attention(inputs_of(batch, cache), {1, path}),
                         doctest::Contains("paged attention: this processor has no"), InputError);
  }
}

}  // namespace
}  // namespace hybridkv::test
