#include <doctest/doctest.h>

#include <cmath>

#include "attention/paged.h"
#include "base/convert.h"
#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

constexpr std::int64_t channels = 64;

/// One request of up to 64 tokens, whose i-th value is 1 in channel i: outputs are then the weights of the keys.
Batch weighing_batch(std::int64_t query_len, std::int64_t seq_len) {
  Batch batch = random_batch({.query_lens = {query_len}, .context_lens = {seq_len - query_len}, .is_decode = {false},
                              .block_size = 12, .num_query_heads = 6, .num_kv_heads = 2, .head_size_k = 24,
                              .head_size_v = channels},
                             query_len * 100 + seq_len);
  for (float& value : batch.query) value *= 3;  // weights that differ by much
  for (std::int64_t position = 0; position < seq_len; ++position) {
    const std::int64_t slot = batch.metadata.block(0, position / 12) * 12 + position % 12;
    const std::span<float> values = batch.value_slot(slot);
    for (std::int64_t i = 0; i < std::ssize(values); ++i) values[i] = i % channels == position ? 1.0f : 0.0f;
  }
  return batch;
}

float to_bf16(double value) { return widen<bf16_format>(narrow<bf16_format>(static_cast<float>(value))); }

/// Weights that are not what rounding those of the reference to bf16 gives, of all that are not 0. A weight may round
/// the other way where float32 lies on the other side of the middle than float64: that is rare.
struct Compared {
  std::int64_t weights = 0, not_rounded = 0, wrong = 0;
};

void compare(const AttentionOutput<float>& output, const AttentionOutput<double>& expected, Compared& compared) {
  for (std::size_t row = 0; row < expected.lse.size(); ++row) {
    const double* shares = expected.out.data() + row * channels;
    const double largest = *std::max_element(shares, shares + channels);
    for (std::int64_t key = 0; key < channels; ++key) {
      const double result = output.out[row * channels + key];
      const double rounded = to_bf16(shares[key] / largest) * largest;
      compared.weights += shares[key] > 0;
      compared.not_rounded += std::abs(result - rounded) > 2e-6 * (shares[key] + 1e-30);
      compared.wrong += std::abs(result - shares[key]) > std::ldexp(shares[key], -8) + 1e-30;
    }
  }
}

Compared compare_all(const PagedOptions& options) {
  Compared compared;
  for (const std::int64_t query_len : {1, 2, 20})  // few rows, which read K and V in place, and many
    for (const std::int64_t seq_len : {20, 21, 33, 63, 64})
      for (const std::int64_t window : {0, 1, 2, 7, 8, 16}) {
        const Batch batch = weighing_batch(query_len, seq_len);
        const PagedCache cache = lay_out(batch, {.form = BackendForm::diff_kv, .dtype = DType::bf16});
        AttentionInputs inputs = inputs_of(batch, cache);
        if (window > 0) inputs.mask = {MaskKind::sliding_window, window};
        compare(paged_attention(inputs, options).output, reference_attention(inputs), compared);
      }
  return compared;
}

TEST_CASE("law: rounded weights are those of the reference, rounded to bf16, key by key") {
  for (const SimdPath path : available_simd_paths()) {
    CAPTURE(to_string(path));
    const PagedOptions options{1, path, true};
    const Compared compared = compare_all(options);
    CHECK(compared.weights > 10000);
    CHECK(compared.wrong == 0);
    if (rounds_weights(options, DType::bf16)) {
      CHECK(compared.not_rounded <= compared.weights / 200);
    } else {
      MESSAGE("path ", to_string(path), " does not round weights");
      CHECK(compared.not_rounded > compared.weights / 2);
    }
    CHECK_FALSE(rounds_weights(options, DType::fp32));
    CHECK_FALSE(rounds_weights({1, path}, DType::bf16));
  }
}

TEST_CASE("fault: weights that are not rounded are told apart from those that are") {
  const Compared exact = compare_all({1, best_simd_path(), false});
  CHECK(exact.wrong == 0);
  CHECK(exact.not_rounded > exact.weights / 2);
}

}  // namespace
}  // namespace hybridkv::test
