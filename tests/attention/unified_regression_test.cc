#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "attention/partial.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

/// Bit for bit, so that NaN equals itself and 0 differs from -0.
template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Real x, Real y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); });
}
template <class Real>
bool same_bits(const AttentionOutput<Real>& a, const AttentionOutput<Real>& b) {
  return same_bits(a.out, b.out) && same_bits(a.lse, b.lse);
}

/// Two results over different keys, joined by their log-sum-exps.
AttentionOutput<double> joined(const AttentionOutput<double>& a, const AttentionOutput<double>& b) {
  const auto rows = static_cast<std::int64_t>(a.lse.size());
  const std::int64_t channels = static_cast<std::int64_t>(a.out.size()) / rows;
  Partial<double> total(rows, 1, channels);
  for (const auto* part : {&a, &b})
    for (std::int64_t row = 0; row < rows; ++row)
      total.merge_row(row, std::span(part->out).subspan(row * channels, channels), part->lse[row],
                      std::isinf(part->lse[row]) ? 0 : 1);
  return finish(total);
}

TEST_CASE("regression: a decode token is not counted in both the causal and the cached part") {
  const Case published = load_case("shared_prefill_decode_bs4");
  const Batch& batch = published.batch;
  const auto cached = unified<double>(batch, {.causal = false});
  const auto causal = unified<double>(batch, {.shared = false, .unique = false});
  CHECK(largest_error(joined(causal.output, cached.output), published.expected) <= fp64_tolerance);
  // The published fault, planted: the causal part takes decodes for prompts, the cached part for decodes.
  const auto as_prompts = unified<double>(batch.with_decodes(false), {.shared = false, .unique = false});
  CHECK(largest_error(joined(as_prompts.output, cached.output), published.expected) > 0.1);
}

TEST_CASE("regression: scores of 256 channels keep their margin in fp32") {
  // In one long sum per score this case came within a tenth of the 2e-6 that is allowed.
  const Case published = load_case("vllm_mixed_small");
  for (const UnifiedOptions& options : all_ways())
    CHECK(largest_error(unified<float>(published.batch, options).output, published.expected) <= fp32_tolerance / 2);
}

TEST_CASE("regression: draft tokens of one decode do not see later ones") {
  const Batch batch = random_batch({.query_lens = {4, 3, 2}, .context_lens = {6, 7, 0},
                                    .is_decode = {true, true, true}, .block_size = 4},
                                   5);
  const AttentionOutput<double> expected = reference(batch);
  for (const UnifiedOptions& options : all_ways())
    CHECK(largest_error(unified<double>(batch, options).output, expected) <= fp64_tolerance);
  // The published fault, planted: usages without the causal mask.
  Batch unmasked = batch;
  unmasked.metadata.causal = false;
  CHECK(largest_error(unified<double>(unmasked).output, expected) > 0.1);
}

/// Sets a slot's K and V to a value.
void poison(Batch& batch, std::int64_t slot, float value) {
  for (float& element : batch.key_slot(slot)) element = value;
  for (float& element : batch.value_slot(slot)) element = value;
}

template <class Real>
void check_unused_slots_do_not_matter() {
  for (const UnifiedOptions& options : all_ways()) {
    Batch batch = mixed_batch();
    const std::vector<bool> used = batch.used_slots();
    const auto expected = unified<Real>(batch, options);
    for (const float value : {std::nanf(""), INFINITY, -INFINITY, 0.0f, 3e38f}) {
      for (std::int64_t slot = 0; slot < batch.num_slots(); ++slot)
        if (!used[slot]) poison(batch, slot, value);
      CHECK(same_bits(unified<Real>(batch, options).output, expected.output));
    }
  }
}

TEST_CASE("regression: NaN, infinity or garbage in unused slots does not change a bit") {
  check_unused_slots_do_not_matter<float>();
  check_unused_slots_do_not_matter<double>();
}

TEST_CASE("fault: NaN in a slot that is used reaches the tokens that see it, and no other token") {
  const Batch clean = mixed_batch();
  const CommonAttentionMetadata& metadata = clean.metadata;
  // The second of three draft tokens of request 4 (tokens 21 to 23 of the batch).
  const std::int64_t token = 22, slot = metadata.slot_mapping[token];
  for (const bool key_too : {false, true}) {
    Batch batch = clean;
    if (key_too) poison(batch, slot, std::nanf(""));
    else batch.value_slot(slot)[0] = std::nanf("");
    for (const UnifiedOptions& options : all_ways()) {
      const auto result = unified<float>(batch, options).output, expected = unified<float>(clean, options).output;
      for (std::int64_t t = 0; t < metadata.num_actual_tokens; ++t) {
        const bool sees = t == token || t == token + 1;
        for (std::int64_t i = t * 4 * 24; i < (t + 1) * 4 * 24; ++i) {
          const bool spoilt = sees && (key_too || i % 24 == 0) && (i / 24 % 4 < 2 || key_too);
          if (spoilt) CHECK(std::isnan(result.out[i]));
          else if (sees) CHECK(std::abs(result.out[i] - expected.out[i]) <= 1e-6f);
          else CHECK(std::bit_cast<std::uint32_t>(result.out[i]) == std::bit_cast<std::uint32_t>(expected.out[i]));
        }
      }
    }
  }
}

TEST_CASE("regression: NaN among the new tokens of one prompt does not reach another request") {
  Batch batch = mixed_batch();
  const AttentionOutput<float> expected = unified<float>(batch).output;
  // The last new token of the first prompt and a new token of a decode, whose causal columns are masked.
  for (const std::int64_t token : {8, 20}) {
    std::fill_n(batch.key_new.begin() + token * 2 * 16, 2 * 16, std::nanf(""));
    std::fill_n(batch.value_new.begin() + token * 2 * 24, 2 * 24, INFINITY);
  }
  for (const std::int64_t slice : {1, 4, 512}) {
    const AttentionOutput<float> result = unified<float>(batch, {.slice_tokens = slice}).output;
    for (std::int64_t t = 0; t < batch.metadata.num_actual_tokens; ++t) {
      if (t == 8) CHECK(std::isnan(result.lse[t * 4]));
      else CHECK(std::abs(result.lse[t * 4] - expected.lse[t * 4]) <= 1e-6f);
      if (t != 8) CHECK(std::abs(result.out[t * 4 * 24] - expected.out[t * 4 * 24]) <= 1e-6f);
    }
  }
}

TEST_CASE("edge: a single visible key gives V exactly, a request with nothing cached is its causal part") {
  const Batch batch = random_batch({.query_lens = {1, 1, 3}, .context_lens = {0, 0, 0},
                                    .is_decode = {true, false, false}, .block_size = 4},
                                   6);
  for (const UnifiedOptions& options : all_ways()) {
    const auto result = unified<float>(batch, options);
    for (const std::int64_t token : {0, 1, 2})
      for (std::int64_t i = 0; i < 4 * 16; ++i)
        CHECK(result.output.out[token * 64 + i] == batch.value_new[(token * 2 + i / 32) * 16 + i % 16]);
    CHECK(result.blocks.shared.empty());
    CHECK(result.blocks.unique.size() == 1);
  }
  // Without the causal part the two prompts see nothing at all.
  const auto cached_only = unified<float>(batch, {.causal = false}).output;
  CHECK(cached_only.lse[4] == -INFINITY);
  CHECK(cached_only.out[4 * 16] == 0);
  CHECK(std::isfinite(cached_only.lse[0]));
}

}  // namespace
}  // namespace hybridkv::test
