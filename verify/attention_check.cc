#include "verify/attention_check.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <optional>

#include "attention/reference.h"
#include "attention/unified.h"
#include "base/parallel.h"
#include "base/random.h"
#include "verify/cache_codec.h"
#include "verify/exchanged_scales.h"
#include "verify/plant.h"

namespace hybridkv {

namespace {

// Both sides read the same rounded K and V, so only the arithmetic in fp32 separates them, whatever the cache dtype.
constexpr double absolute_tolerance = 1e-5;
constexpr double relative_tolerance = 1.3e-6;

KeyMask mask_of(const Traffic& traffic, const BoundView& view) {
  const AttentionGeometry& attention = *traffic.plan.specs[view.view.spec].attention;
  return key_mask(attention.kind, attention.window_tokens);
}

/// Whether this is attention over values that can be computed: hidden states are attended by nobody, and of a format
/// without a codec only the bytes are known here.
bool is_computable(const Traffic& traffic, std::size_t view) {
  const auto& attention = traffic.plan.specs[traffic.views[view].view.spec].attention;
  return attention && attention->kind != AttentionKind::hidden_state && has_values(*attention);
}

/// Adds the values of a cached row of K or V as they are read back.
void append_row(const Traffic& traffic, std::size_t view, bool is_value, const TensorView& cache, std::int64_t slot,
                std::int64_t head, std::vector<float>& values) {
  const KvCodec codec = kv_codec(traffic, view, is_value);
  const std::int64_t stored = cache.layout.extent("channel"), channels = decoded_channels(codec, stored);
  std::vector<std::byte> row(static_cast<std::size_t>(stored * element_bytes(cache.dtype)));
  kv_row(traffic, view, is_value, slot, head, row);
  values.resize(values.size() + static_cast<std::size_t>(channels));
  decode_row(codec, cache.dtype, row.data(), std::span(values).last(static_cast<std::size_t>(channels)));
}

/// Metadata of the batch in the group of this view. What has left a window is the null block, as in vLLM.
CommonAttentionMetadata batch_metadata(const Traffic& traffic, const BoundView& view) {
  const auto& tables = traffic.assignment.ids[view.group];
  const std::int64_t block = traffic.plan.specs[view.view.spec].block_size_tokens;
  std::int64_t columns = 0;
  for (const BatchRequest& request : traffic.requests) columns = std::max(columns, ceil_div(request.tokens, block));
  std::vector<std::int64_t> query_lens, seq_lens, block_table(tables.size() * columns, 0);
  for (std::size_t request = 0; request < tables.size(); ++request) {
    const HeldTokens held = held_tokens(traffic, view, request);
    seq_lens.push_back(held.end);
    query_lens.push_back(held.query);
    const std::int64_t first = held.first / block, used = ceil_div(held.end, block) - first;
    std::copy_n(tables[request].begin(), used, block_table.begin() + request * columns + first);
  }
  return make_metadata(query_lens, seq_lens, std::move(block_table), columns, block, mask_of(traffic, view));
}

/// `row` = query token and head, the outer two axes of both results.
std::string difference_text(const Traffic& traffic, const BoundView& view, const AttentionBatch& batch, std::int64_t row,
                            std::string_view what, double got, double wanted) {
  const AttentionInputs& inputs = batch.inputs;
  const std::int64_t token = row / inputs.num_query_heads;
  std::int64_t request = 0;
  while (inputs.metadata.query_start_loc[request + 1] <= token) ++request;
  const std::int64_t block =
      inputs.metadata.block(request, first_visible_column(inputs.metadata, request, inputs.mask));
  return fmt::format("{}, pool {}, request {} (first block {}, byte {}), token {}, query head {}: {} gives {:.9g}, the "
                     "reference {:.9g}",
                     view.name(traffic.plan), view.view.pool, request, block, traffic.plan.lanes[view.view.lane.index()].begin(block), token,
                     row % inputs.num_query_heads, what, got, wanted);
}

/// The inputs with the first entry taken out of a block table through which a cached token is seen; nothing where no
/// request of the batch sees one.
std::optional<AttentionInputs> with_stale_block(const AttentionInputs& inputs) {
  for (std::int64_t request = 0; request < inputs.metadata.num_reqs; ++request) {
    const std::int64_t first = inputs.mask.first_visible(inputs.metadata.position(request, 0));
    if (!inputs.is_decode[request] && first >= inputs.metadata.num_computed_tokens[request]) continue;
    AttentionInputs stale = inputs;
    const std::int64_t column = first_visible_column(inputs.metadata, request, inputs.mask);
    stale.metadata.block_table[request * inputs.metadata.max_blocks_per_req + column] = 0;
    return stale;
  }
  return std::nullopt;
}

/// True where a fault of attention was asked for and had its place in this layer.
bool compare(const Traffic& traffic, std::size_t view_index, const AttentionBatch& batch,
             const AttentionOutput<double>& expected, SharedBiasMode bias, CheckResult& result) {
  UnifiedOptions options;
  options.shared_bias = bias;
  options.chunk_blocks = 1;  // so that chunks are merged even where a batch shares few blocks
  options.unique_bias = UniqueBiasMode::gathered;
  std::optional<AttentionInputs> stale;
  std::optional<ExchangedScales> exchanged;
  if (traffic.fault == Fault::stale_block && bias == SharedBiasMode::full) stale = with_stale_block(batch.inputs);
  if (traffic.fault == Fault::scale_exchanged && bias == SharedBiasMode::full) exchanged.emplace(batch.inputs);
  options.shared = !(traffic.fault == Fault::lost_merge && bias == SharedBiasMode::chunked);
  const UnifiedResult<float> unified =
      unified_attention<float>(stale ? *stale : exchanged ? exchanged->inputs() : batch.inputs, options);
  const AttentionOutput<float>& output = unified.output;
  const auto compare_element = [&](double got, double wanted, std::size_t row, std::string_view what) {
    ++result.count;
    const double error = std::abs(got - wanted);
    // NaN compares false with everything, so it must not hide behind `error > limit`.
    const bool right = error <= absolute_tolerance + relative_tolerance * std::abs(wanted);
    if (right) {
      result.max_error = std::max(result.max_error, error);
    } else if (result.status == CheckStatus::passed) {
      result.max_error = error;
      result.fail(difference_text(traffic, traffic.views[view_index], batch, static_cast<std::int64_t>(row), what, got,
                                  wanted));
    }
  };
  const auto channels = static_cast<std::size_t>(batch.inputs.head_size_v());
  for (std::size_t i = 0; i < expected.out.size(); ++i)
    compare_element(output.out[i], expected.out[i], i / channels, "attention");
  for (std::size_t i = 0; i < expected.lse.size(); ++i)
    compare_element(output.lse[i], expected.lse[i], i, "its log-sum-exp");
  return stale || (exchanged && exchanged->any()) || (!options.shared && !unified.blocks.shared.empty());
}

}  // namespace

AttentionBatch make_attention_batch(const Traffic& traffic, std::size_t view_index) {
  const BoundView& view = traffic.views[view_index];
  const AttentionGeometry& attention = *traffic.plan.specs[view.view.spec].attention;
  const auto [key, value] = key_value_bytes(view, attention);
  AttentionBatch batch;
  AttentionInputs& inputs = batch.inputs;
  inputs.metadata = batch_metadata(traffic, view);
  inputs.mask = mask_of(traffic, view);
  for (const BatchRequest& request : traffic.requests) inputs.is_decode.push_back(request.is_decode);
  // Where the model file does not say how many query heads there are, one for each KV head shows the layout as well.
  inputs.num_query_heads = std::max(attention.query_heads, attention.kv_heads);
  inputs.key = traffic.pools.tensor(view, key);
  inputs.value = traffic.pools.tensor(view, value);
  inputs.key_codec = kv_codec(traffic, view_index, false);
  inputs.value_codec = kv_codec(traffic, view_index, true);
  inputs.scale = 1.0 / std::sqrt(static_cast<double>(inputs.head_size_k()));
  for (std::int64_t token = 0; token < inputs.num_tokens(); ++token) {
    const std::int64_t slot = inputs.metadata.slot_mapping[token];
    for (std::int64_t head = 0; head < inputs.num_query_heads; ++head)
      for (std::int64_t channel = 0; channel < inputs.head_size_k(); ++channel)
        batch.query.push_back(unit_value(mix(mix(traffic.seed, view_index), mix(token, head << 32 | channel))));
    for (std::int64_t head = 0; head < attention.kv_heads; ++head) {
      append_row(traffic, view_index, false, inputs.key, slot, head, batch.key_new);
      append_row(traffic, view_index, true, inputs.value, slot, head, batch.value_new);
    }
  }
  inputs.query = batch.query;
  inputs.key_new = batch.key_new;
  inputs.value_new = batch.value_new;
  return batch;
}

std::array<CheckResult, 2> check_attention(const Traffic& traffic) {
  constexpr std::array<SharedBiasMode, 2> modes{SharedBiasMode::full, SharedBiasMode::chunked};
  std::vector<std::array<CheckResult, 2>> results(traffic.views.size());
  std::atomic<bool> planted = false;
  parallel_for(traffic.views.size(), [&](std::size_t i) {
    if (!is_computable(traffic, i)) return;
    const AttentionBatch batch = make_attention_batch(traffic, i);
    const AttentionOutput<double> expected = reference_attention(batch.inputs);
    for (std::size_t mode = 0; mode < modes.size(); ++mode)
      if (compare(traffic, i, batch, expected, modes[mode], results[i][mode])) planted = true;
  });
  if ((traffic.fault == Fault::stale_block || traffic.fault == Fault::lost_merge) && !planted)
    throw NoPlaceError(*traffic.fault, "no layer whose attention is computed sees such a cached block");
  if (traffic.fault == Fault::scale_exchanged && !planted)
    throw NoPlaceError(*traffic.fault, "no layer whose attention is computed reads cached scales");
  std::array<CheckResult, 2> totals{
      CheckResult{.unit = "outputs", .tolerance = absolute_tolerance},
      CheckResult{.unit = "outputs", .tolerance = absolute_tolerance}};
  for (const auto& layer : results)
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      totals[mode].count += layer[mode].count;
      totals[mode].max_error = std::max(totals[mode].max_error, layer[mode].max_error);
      if (layer[mode].status == CheckStatus::failed) totals[mode].fail(layer[mode].message);
    }
  for (const SpecPlan& spec : traffic.plan.specs)
    if (spec.attention && !has_values(*spec.attention))
      for (CheckResult& total : totals) {
        if (total.status != CheckStatus::passed) continue;
        total.status = CheckStatus::no_codec;
        total.message = fmt::format("values of {} are not computed here; its bytes are checked like any others",
                                    to_string(*spec.attention->format));
      }
  return totals;
}

}  // namespace hybridkv
