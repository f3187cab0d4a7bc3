#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/attention/batch.h"
#include "tests/attention/run_backend.h"

namespace hybridkv::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Bit for bit, so that NaN equals itself and 0 differs from -0.
bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

/// Output rows of the query tokens [first, last).
std::span<const float> rows(const AttentionOutput<float>& output, const Batch& batch, std::int64_t first,
                            std::int64_t last) {
  const std::int64_t row = batch.num_query_heads * batch.head_size_v;
  return std::span(output.out).subspan(first * row, (last - first) * row);
}

/// Whether a query token has exactly the V of a slot in all heads.
bool is_value_of(const AttentionOutput<float>& output, Batch& batch, std::int64_t token, std::int64_t slot) {
  const std::int64_t group = batch.num_query_heads / batch.num_kv_heads;
  for (std::int64_t head = 0; head < batch.num_query_heads; ++head) {
    const auto out = rows(output, batch, token, token + 1).subspan(head * batch.head_size_v, batch.head_size_v);
    const auto value = batch.value_slot(slot).subspan(head / group * batch.head_size_v, batch.head_size_v);
    if (!std::equal(out.begin(), out.end(), value.begin(), value.end())) return false;
  }
  return true;
}

/// NaN in K and V of a slot, and in those of the new token that was written there.
void poison(Batch& batch, std::int64_t slot) {
  for (float& value : batch.key_slot(slot)) value = nan;
  for (float& value : batch.value_slot(slot)) value = nan;
  for (std::size_t token = 0; token < batch.metadata.slot_mapping.size(); ++token) {
    if (batch.metadata.slot_mapping[token] != slot) continue;
    const auto row_k = batch.num_kv_heads * batch.head_size_k, row_v = batch.num_kv_heads * batch.head_size_v;
    const auto at = static_cast<std::int64_t>(token);
    std::fill_n(batch.key_new.begin() + at * row_k, row_k, nan);
    std::fill_n(batch.value_new.begin() + at * row_v, row_v, nan);
  }
}

TEST_CASE("edge: a single valid key gives its V exactly, with every backend") {
  Batch batch = random_batch({.query_lens = {1, 3, 1}, .context_lens = {0, 0, 0}, .is_decode = {true, false, false},
                              .block_size = 4},
                             6);
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs inputs = inputs_of(batch, cache);
  for (const BackendUnderTest& how : backends_for(inputs)) {
    CAPTURE(how.name);
    const AttentionOutput<float> output = run(how, inputs).output;
    for (const std::int64_t token : {0, 1, 4})
      CHECK(is_value_of(output, batch, token, batch.metadata.slot_mapping[token]));
    CHECK(!is_value_of(output, batch, 2, batch.metadata.slot_mapping[2]));
  }
  inputs.mask = {MaskKind::sliding_window, 1};
  for (const BackendUnderTest& how : backends_for(inputs)) {
    CAPTURE(how.name);
    const AttentionOutput<float> output = run(how, inputs).output;
    for (std::int64_t token = 0; token < 5; ++token)
      CHECK(is_value_of(output, batch, token, batch.metadata.slot_mapping[token]));
  }
}

TEST_CASE("edge: 34 queries over 1 key: 33 rows without a key give 0 and minus infinity, the last one V") {
  Batch batch = random_batch({.query_lens = {34, 1}, .context_lens = {0, 9}, .is_decode = {false, true}}, 2);
  const std::int64_t seq_lens[] = {1, 10}, query_lens[] = {34, 1};
  batch.metadata = make_metadata(query_lens, seq_lens, batch.metadata.block_table, 3, 16);
  const std::int64_t slot = batch.metadata.slot_mapping[33];
  std::copy_n(batch.key_slot(slot).begin(), 32, batch.key_new.begin() + 33 * 32);
  std::copy_n(batch.value_slot(slot).begin(), 32, batch.value_new.begin() + 33 * 32);
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs inputs = inputs_of(batch, cache);
  for (const BackendUnderTest& how : backends_for(inputs)) {
    CAPTURE(how.name);
    change_metadata(inputs, [](auto& metadata) { metadata.causal = true; });
    const AttentionOutput<float> output = run(how, inputs).output;
    CHECK(std::all_of(output.out.begin(), output.out.begin() + 33 * 4 * 16, [](float x) { return x == 0; }));
    CHECK(std::all_of(output.lse.begin(), output.lse.begin() + 33 * 4, [](float x) { return x == -INFINITY; }));
    CHECK(is_value_of(output, batch, 33, slot));
    CHECK(std::isfinite(output.lse[33 * 4]));
    CHECK(largest_error(output, reference_attention(inputs)) <= fp32_tolerance);
    // Without the causal mask all of them see the key. The new tokens before it stand in no slot.
    change_metadata(inputs, [](auto& metadata) { metadata.causal = false; });
    const AttentionOutput<float> both_ways = run(how, inputs).output;
    for (std::int64_t token = 0; token < 34; ++token) CHECK(is_value_of(both_ways, batch, token, slot));
  }
}

TEST_CASE("edge: NaN in every unused slot does not change a bit, with every backend") {
  const Batch batch = mixed_batch();
  const std::vector<bool> used = batch.used_slots();
  Batch poisoned = batch;
  for (std::int64_t slot = 0; slot < batch.num_slots(); ++slot)
    if (!used[slot]) poison(poisoned, slot);
  CHECK(std::count(used.begin(), used.end(), false) > 20);
  const PagedCache cache = lay_out_plain(batch), poisoned_cache = lay_out_plain(poisoned);
  for (const KeyMask& mask : {KeyMask{}, KeyMask{MaskKind::sliding_window, 6}, KeyMask{MaskKind::chunked_local, 8}}) {
    AttentionInputs clean = inputs_of(batch, cache), dirty = inputs_of(poisoned, poisoned_cache);
    clean.mask = dirty.mask = mask;
    for (const BackendUnderTest& how : backends_for(clean)) {
      CAPTURE(how.name);
      const AttentionOutput<float> expected = run(how, clean).output, output = run(how, dirty).output;
      CHECK(same_bits(output.out, expected.out));
      CHECK(same_bits(output.lse, expected.lse));
    }
  }
}

TEST_CASE("fault: NaN in a slot that is used is seen") {
  Batch batch = mixed_batch();
  poison(batch, batch.metadata.block(1, 0) * 4);
  const PagedCache cache = lay_out_plain(batch);
  for (const BackendUnderTest& how : backends_under_test())
    CHECK(std::isnan(run(how, inputs_of(batch, cache)).output.lse[9 * 4]));
}

TEST_CASE("edge: a request with no cached block, and one without tokens at all") {
  const Batch batch = random_batch({.query_lens = {5, 0, 7, 1}, .context_lens = {0, 0, 0, 13},
                                    .is_decode = {false, true, false, true}, .block_size = 8},
                                   9);
  const PagedCache cache = lay_out_plain(batch);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    CHECK(largest_error(run(how, inputs_of(batch, cache)).output, reference(batch)) <= fp32_tolerance);
  }
  Batch first_chunk = random_batch({.query_lens = {6}, .context_lens = {0}, .is_decode = {false}}, 9);
  const PagedCache first_cache = lay_out_plain(first_chunk);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    const AttentionOutput<float> output = run(how, inputs_of(first_chunk, first_cache)).output;
    CHECK(is_value_of(output, first_chunk, 0, first_chunk.metadata.slot_mapping[0]));
  }
}

TEST_CASE("edge: scores of plus and minus 10,000 stay finite and keep their order") {
  // Key p of a request scores exactly 10,000 where p is a multiple of 3, else -10,000; in request 1 all score -10,000.
  Batch batch = random_batch({.query_lens = {5, 2, 1}, .context_lens = {31, 40, 70},
                              .is_decode = {false, true, true}, .head_size_k = 8, .head_size_v = 16},
                             10);
  std::fill(batch.query.begin(), batch.query.end(), 0.0f);
  for (std::size_t i = 0; i < batch.query.size(); i += 8) batch.query[i] = 1;
  batch.scale = 1;
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t p = 0; p < batch.metadata.seq_lens[r]; ++p)
      for (std::int64_t head = 0; head < 2; ++head)
        batch.key_slot(batch.metadata.block(r, p / 16) * 16 + p % 16)[head * 8] = p % 3 == 0 && r != 1 ? 1e4f : -1e4f;
  for (std::size_t token = 0; token < batch.metadata.slot_mapping.size(); ++token)
    std::copy_n(batch.key_slot(batch.metadata.slot_mapping[token]).begin(), 16,
                batch.key_new.begin() + static_cast<std::ptrdiff_t>(token) * 16);
  const PagedCache cache = lay_out_plain(batch);
  const AttentionOutput<double> expected = reference(batch);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    const AttentionOutput<float> output = run(how, inputs_of(batch, cache)).output;
    CHECK(largest_error<float>(output.out, expected.out) <= fp32_tolerance);
    CHECK(output.lse[0] == doctest::Approx(1e4 + std::log(11)).epsilon(1e-6));
    CHECK(output.lse[5 * 4] == doctest::Approx(-1e4 + std::log(41)).epsilon(1e-6));
  }
}

TEST_CASE("edge: draft tokens of one decode see none after them: what stands there does not change a bit") {
  const Batch batch = random_batch({.query_lens = {4, 3}, .context_lens = {6, 17}, .is_decode = {true, true},
                                    .block_size = 4},
                                   5);
  Batch poisoned = batch;
  poison(poisoned, batch.metadata.slot_mapping[3]);
  const PagedCache cache = lay_out_plain(batch), poisoned_cache = lay_out_plain(poisoned);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    const AttentionOutput<float> expected = run(how, inputs_of(batch, cache)).output;
    const AttentionOutput<float> output = run(how, inputs_of(poisoned, poisoned_cache)).output;
    CHECK(largest_error(expected, reference(batch)) <= fp32_tolerance);
    CHECK(same_bits(rows(output, poisoned, 0, 3), rows(expected, batch, 0, 3)));
    CHECK(std::isnan(rows(output, poisoned, 3, 4)[0]));
    CHECK(same_bits(rows(output, poisoned, 4, 7), rows(expected, batch, 4, 7)));
  }
}

}  // namespace
}  // namespace hybridkv::test
