#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/close_to.h"

namespace hybridkv::test {
namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// What a layer declares besides its shape.
struct LayerRule {
  KeyMask mask = {};
  double soft_cap = 0;
  std::span<const float> sinks = {};
};

AttentionInputs with(AttentionInputs inputs, const LayerRule& rule) {
  inputs.mask = rule.mask;
  inputs.soft_cap = rule.soft_cap;
  inputs.sinks = rule.sinks;
  return inputs;
}

/// Position of every query token in its request.
std::vector<std::int64_t> positions(const Batch& batch) {
  std::vector<std::int64_t> result;
  for (std::int64_t request = 0; request < batch.metadata.num_reqs; ++request)
    for (std::int64_t i = 0; i < batch.metadata.query_len(request); ++i)
      result.push_back(batch.metadata.position(request, i));
  return result;
}

/// Every way of the unified algorithm that knows windows.
std::vector<UnifiedOptions> windowed_ways() {
  std::vector<UnifiedOptions> ways = all_ways();
  std::erase_if(ways, [](const UnifiedOptions& way) { return way.shared_bias == SharedBiasMode::sparse; });
  return ways;
}

void check_unified(const Batch& batch, const LayerRule& rule, const AttentionOutput<double>& expected) {
  const PagedCache cache = lay_out_plain(batch);
  const AttentionInputs inputs = with(inputs_of(batch, cache), rule);
  CHECK(largest_error(reference_attention(inputs), expected) <= fp64_tolerance);
  for (const UnifiedOptions& options : windowed_ways()) {
    CAPTURE(options.chunk_blocks);
    CHECK(largest_error(unified_attention<double>(inputs, options).output, expected) <= fp64_tolerance);
    CHECK(largest_error(unified_attention<float>(inputs, options).output, expected) <= fp32_tolerance);
  }
}

TEST_CASE("golden: what a window and a chunk of four let a position see") {
  const KeyMask window{MaskKind::sliding_window, 4}, chunk{MaskKind::chunked_local, 4}, full;
  CHECK(window.first_visible(9) == 6);
  CHECK(window.first_visible(2) == 0);
  CHECK(chunk.first_visible(9) == 8);
  CHECK(chunk.first_visible(7) == 4);
  CHECK(full.first_visible(9) == 0);
  for (const KeyMask& mask : {window, chunk, full}) CHECK(mask.first_visible(-3) == 0);
  CHECK(key_mask(AttentionKind::sliding_window, 4) == window);
  CHECK(key_mask(AttentionKind::chunked_local, 4) == chunk);
  CHECK(key_mask(AttentionKind::full, 0) == full);
  CHECK(key_mask(AttentionKind::mla, 0) == full);
}

TEST_CASE("law: windows and chunks equal a reference with every key filtered one by one") {
  const Batch mixed = mixed_batch();
  for (const Batch& batch : {mixed, mixed.with_decodes(false), mixed.with_decodes(true)}) {
    const std::vector<std::int64_t> position_of = positions(batch);
    for (const std::int64_t window : {1, 2, 3, 4, 7, 16, 25, 100}) {
      CAPTURE(window);
      check_unified(
          batch, {{MaskKind::sliding_window, window}},
          reference(batch, [&](std::int64_t token, std::int64_t key) { return key > position_of[token] - window; }));
      check_unified(batch, {{MaskKind::chunked_local, window}},
                    reference(batch, [&](std::int64_t token, std::int64_t key) {
                      return key / window == position_of[token] / window;
                    }));
    }
  }
}

TEST_CASE("fault: a window one token too wide is another result") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  const auto run = [&](std::int64_t window) {
    return reference_attention(with(inputs_of(batch, cache), {{MaskKind::sliding_window, window}}));
  };
  const auto wide = unified_attention<double>(with(inputs_of(batch, cache), {{MaskKind::sliding_window, 8}})).output;
  CHECK(largest_error(wide, run(8)) <= fp64_tolerance);
  CHECK(largest_error(wide, run(7)) > 1e-3);
}

TEST_CASE("edge: blocks that have left the window are not looked at, whatever the table and the slots hold") {
  const Batch batch = mixed_batch();
  for (const KeyMask& mask : {KeyMask{MaskKind::sliding_window, 6}, KeyMask{MaskKind::chunked_local, 8}}) {
    const PagedCache cache = lay_out_plain(batch);
    const AttentionInputs intact = with(inputs_of(batch, cache), {mask});
    Batch reused = batch;
    std::vector<bool> visible(reused.num_slots());
    for (std::int64_t r = 0; r < reused.metadata.num_reqs; ++r) {
      const std::int64_t first = first_visible_column(reused.metadata, r, mask);
      for (std::int64_t column = 0; column < first; ++column)
        reused.metadata.block_table[r * reused.metadata.max_blocks_per_req + column] = column % 2 == 0 ? 0 : 1'000'000;
      for (std::int64_t p = mask.first_visible(reused.metadata.position(r, 0)); p < reused.metadata.seq_lens[r]; ++p)
        visible[reused.metadata.block(r, p / 4) * 4 + p % 4] = true;
    }
    std::int64_t poisoned = 0;
    for (std::int64_t slot = 0; slot < reused.num_slots(); ++slot) {
      if (visible[slot]) continue;
      ++poisoned;
      for (float& value : reused.key_slot(slot)) value = not_a_number;
      for (float& value : reused.value_slot(slot)) value = not_a_number;
    }
    CHECK(poisoned > 40);
    const PagedCache poisoned_cache = lay_out_plain(reused);
    const AttentionInputs inputs = with(inputs_of(reused, poisoned_cache), {mask});
    CHECK(reference_attention(inputs).out == reference_attention(intact).out);
    for (const UnifiedOptions& options : windowed_ways()) {
      const auto result = unified_attention<float>(inputs, options).output;
      const auto expected = unified_attention<float>(intact, options).output;
      CHECK(largest_error(result, reference_attention(intact)) <= fp32_tolerance);
      CHECK(result.lse.size() == expected.lse.size());
    }
  }
}

TEST_CASE("law: a soft cap and sinks, in every way") {
  const Batch batch = mixed_batch();
  const float sinks[] = {0.5f, -2.0f, 7.0f, -std::numeric_limits<float>::infinity()};
  const LayerRule rule{{MaskKind::sliding_window, 9}, 1.5, sinks};
  const PagedCache cache = lay_out_plain(batch);
  const auto expected = reference_attention(with(inputs_of(batch, cache), rule));
  check_unified(batch, rule, expected);
  // A sink takes its share of the weights: exp(lse) grows by exp(sink), the output shrinks in proportion.
  const auto plain = reference_attention(with(inputs_of(batch, cache), {rule.mask, rule.soft_cap}));
  for (std::size_t row = 0; row < plain.lse.size(); ++row) {
    const double with_sink = std::log(std::exp(plain.lse[row]) + std::exp(static_cast<double>(sinks[row % 4])));
    CHECK(expected.lse[row] == doctest::Approx(with_sink).epsilon(1e-12));
    CHECK(expected.out[row * 24] == testing::close_to(plain.out[row * 24] * std::exp(plain.lse[row] - with_sink)));
  }
  CHECK(largest_error(plain, reference_attention(with(inputs_of(batch, cache), {rule.mask}))) > 1e-3);
}

TEST_CASE("edge: a token without keys has its sink alone; a cap far above the scores changes nothing") {
  Batch batch = random_batch({.query_lens = {3}, .context_lens = {0}, .is_decode = {true}}, 2);
  const std::int64_t one[] = {1}, three[] = {3};
  batch.metadata = make_metadata(three, one, batch.metadata.block_table, 1, 16);
  const float sinks[] = {0.25f, 0.5f, 1.0f, 2.0f};
  const PagedCache cache = lay_out_plain(batch);
  const AttentionInputs inputs = with(inputs_of(batch, cache), {{}, 0, sinks});
  const auto result = unified_attention<double>(inputs).output;
  CHECK(largest_error(result, reference_attention(inputs)) <= fp64_tolerance);
  for (std::int64_t row = 0; row < 8; ++row) {
    CHECK(result.lse[row] == sinks[row % 4]);
    CHECK(result.out[row * 16] == 0);
  }
  const auto capped = unified_attention<double>(with(inputs_of(batch, cache), {{}, 1e6})).output;
  CHECK(largest_error(capped, reference_attention(inputs_of(batch, cache))) <= 1e-9);
}

TEST_CASE("edge: a rule that cannot be is refused with the numbers") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  const auto refused = [&](const LayerRule& rule, const char* message, const UnifiedOptions& options = {}) {
    CHECK_THROWS_WITH_AS(unified_attention<float>(with(inputs_of(batch, cache), rule), options),
                         doctest::Contains(message), InputError);
  };
  refused({{MaskKind::sliding_window, 0}}, "a window or chunk of 0 tokens");
  refused({{}, -1}, "a soft cap of -1");
  refused({{}, std::nan("")}, "a soft cap of nan");
  const float two[] = {1, 2};
  refused({{}, 0, two}, "2 sinks for 4 query heads");
  refused({{MaskKind::chunked_local, 4}}, "take the full or chunked bias",
          {.shared_bias = SharedBiasMode::sparse});
  Batch both_ways = batch;
  both_ways.metadata.causal = false;
  CHECK_THROWS_WITH_AS(reference_attention(with(inputs_of(both_ways, cache), {{MaskKind::sliding_window, 4}})),
                       doctest::Contains("take the full mask"), InputError);
}

/// MLA of one layer with its projections, (head, latent, channel) each, and a batch of latents in a cache.
struct LatentLayer {
  std::int64_t heads = 3, lora = 12, rope = 4, nope = 6, value = 5;
  std::vector<double> key_up, value_up;      ///< (head, lora, nope) and (head, lora, value)
  std::vector<double> query_nope, query_rope;  ///< (token, head, nope) and (token, head, rope)
  Batch batch;                               ///< its query is the absorbed one
};

LatentLayer latent_layer() {
  LatentLayer layer;
  layer.batch = random_batch({.query_lens = {5, 1, 2}, .context_lens = {19, 40, 35}, .is_decode = {false, true, true},
                              .shared_prefix_blocks = 1, .num_query_heads = layer.heads, .num_kv_heads = 1,
                              .head_size_k = layer.lora + layer.rope, .head_size_v = layer.lora},
                             31);
  Batch& batch = layer.batch;
  std::mt19937_64 random(32);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::vector<double>& values, std::int64_t count) {
    values.resize(count);
    for (double& value : values) value = normal(random);
  };
  const std::int64_t tokens = batch.metadata.num_actual_tokens, latent = layer.lora + layer.rope;
  fill(layer.key_up, layer.heads * layer.lora * layer.nope);
  fill(layer.value_up, layer.heads * layer.lora * layer.value);
  fill(layer.query_nope, tokens * layer.heads * layer.nope);
  fill(layer.query_rope, tokens * layer.heads * layer.rope);
  batch.scale = 1 / std::sqrt(static_cast<double>(layer.nope + layer.rope));
  for (std::int64_t row = 0; row < tokens * layer.heads; ++row) {
    for (std::int64_t l = 0; l < latent; ++l) {
      double absorbed = l < layer.lora ? 0 : layer.query_rope[row * layer.rope + l - layer.lora];
      if (l < layer.lora)
        for (std::int64_t c = 0; c < layer.nope; ++c)
          absorbed += layer.query_nope[row * layer.nope + c] *
                      layer.key_up[((row % layer.heads) * layer.lora + l) * layer.nope + c];
      batch.query[row * latent + l] = static_cast<float>(absorbed);
    }
  }
  return layer;
}

/// The long way: K and V of every head are projected up from the latent of every position, then dense attention.
std::vector<double> unabsorbed(const LatentLayer& layer, std::vector<double>& lse) {
  const Batch& batch = layer.batch;
  const std::int64_t latent = layer.lora + layer.rope, block = batch.metadata.block_size_tokens;
  std::vector<double> out;
  for (std::int64_t r = 0; r < batch.metadata.num_reqs; ++r)
    for (std::int64_t i = 0; i < batch.metadata.query_len(r); ++i)
      for (std::int64_t head = 0; head < layer.heads; ++head) {
        const std::int64_t row = (batch.metadata.query_start_loc[r] + i) * layer.heads + head;
        double sum = 0;
        std::vector<double> value(layer.value);
        for (std::int64_t p = 0; p <= batch.metadata.position(r, i); ++p) {
          const float* c = batch.key_cache.data() + (batch.metadata.block(r, p / block) * block + p % block) * latent;
          double score = 0;
          for (std::int64_t n = 0; n < layer.nope; ++n) {
            double key = 0;
            for (std::int64_t l = 0; l < layer.lora; ++l)
              key += c[l] * layer.key_up[(head * layer.lora + l) * layer.nope + n];
            score += layer.query_nope[row * layer.nope + n] * key;
          }
          for (std::int64_t n = 0; n < layer.rope; ++n)
            score += layer.query_rope[row * layer.rope + n] * c[layer.lora + n];
          const double weight = std::exp(batch.scale * score);
          sum += weight;
          for (std::int64_t n = 0; n < layer.value; ++n)
            for (std::int64_t l = 0; l < layer.lora; ++l)
              value[n] += weight * c[l] * layer.value_up[(head * layer.lora + l) * layer.value + n];
        }
        for (const double v : value) out.push_back(v / sum);
        lse.push_back(std::log(sum));
      }
  return out;
}

TEST_CASE("law: MLA absorbed over one latent per token equals K and V projected up head by head") {
  const LatentLayer layer = latent_layer();
  const Batch& batch = layer.batch;
  const PagedCache cache = lay_out(batch, {.form = BackendForm::mla, .dtype = DType::fp32, .pack_size = 2}, 1);
  // The views are of one latent: V is where K begins.
  CHECK(cache.value.layout.offset() == cache.key.layout.offset());
  CHECK(cache.key.layout.extent("channel") == layer.lora + layer.rope);
  CHECK(cache.value.layout.extent("channel") == layer.lora);
  AttentionInputs inputs = inputs_of(batch, cache);
  std::vector<float> value_new;
  for (std::int64_t token = 0; token < inputs.num_tokens(); ++token)
    for (std::int64_t l = 0; l < layer.lora; ++l)
      value_new.push_back(batch.key_new[token * (layer.lora + layer.rope) + l]);
  inputs.value_new = value_new;
  std::vector<double> lse;
  const std::vector<double> expected = unabsorbed(layer, lse);
  for (const auto& result : {reference_attention(inputs), unified_attention<double>(inputs).output}) {
    std::vector<double> out;
    for (std::int64_t row = 0; row < inputs.num_tokens() * layer.heads; ++row)
      for (std::int64_t n = 0; n < layer.value; ++n) {
        double projected = 0;
        for (std::int64_t l = 0; l < layer.lora; ++l)
          projected += result.out[row * layer.lora + l] *
                       layer.value_up[((row % layer.heads) * layer.lora + l) * layer.value + n];
        out.push_back(projected);
      }
    // The absorbed query is rounded to fp32.
    CHECK(largest_error<double>(out, expected) <= 1e-5);
    CHECK(largest_error<double>(result.lse, lse) <= 1e-5);
  }
}

}  // namespace
}  // namespace hybridkv::test
