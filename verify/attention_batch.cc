#include "verify/attention_batch.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/random.h"
#include "verify/layout/cache_codec.h"

namespace hybridkv {

namespace {

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

/// Where the model file does not say how many query heads there are, one for each KV head shows the layout as well.
std::int64_t query_heads(const AttentionGeometry& attention) {
  return std::max(attention.query_heads, attention.kv_heads);
}

AttentionShape shape_of(const AttentionGeometry& attention) {
  const KvCodec codec = cache_codec(attention, 1);  // the sizes of a format, whatever the scale
  return {query_heads(attention), attention.kv_heads, decoded_channels(codec, attention.head_size_k),
          decoded_channels(codec, attention.head_size_v), key_mask(attention.kind, attention.window_tokens)};
}

CommonAttentionMetadata batch_metadata(const Traffic& traffic, const BoundView& view, const KeyMask& mask) {
  const auto& tables = traffic.assignment.ids[view.group];
  const std::int64_t block = traffic.plan.specs[view.view.spec].block_size_tokens;
  std::int64_t columns = 0;
  for (std::size_t request = 0; request < tables.size(); ++request)
    columns = std::max(columns, ceil_div(held_tokens(traffic, view, request).end, block));
  std::vector<std::int64_t> query_lens, seq_lens, block_table(tables.size() * columns, 0);
  for (std::size_t request = 0; request < tables.size(); ++request) {
    const HeldTokens held = held_tokens(traffic, view, request);
    seq_lens.push_back(held.end);
    query_lens.push_back(held.query);
    const std::int64_t first = held.first / block, used = ceil_div(held.end, block) - first;
    std::copy_n(tables[request].begin(), used, block_table.begin() + request * columns + first);
  }
  return make_metadata(query_lens, seq_lens, std::move(block_table), columns, block, mask);
}

}  // namespace

std::vector<std::optional<GroupBatch>> group_batches(const Traffic& traffic) {
  std::vector<bool> is_decode;
  for (const BatchRequest& request : traffic.requests) is_decode.push_back(request.is_decode);
  std::vector<std::optional<GroupBatch>> batches(traffic.plan.groups.size());
  for (const BoundView& view : traffic.views) {
    std::optional<GroupBatch>& batch = batches[static_cast<std::size_t>(view.group)];
    const auto& attention = traffic.plan.specs[view.view.spec].attention;
    if (batch || !attention || !has_values(*attention)) continue;
    const AttentionShape shape = shape_of(*attention);
    batch = make_group_batch(
        std::make_shared<const CommonAttentionMetadata>(batch_metadata(traffic, view, shape.mask)), shape, is_decode);
  }
  return batches;
}

AttentionBatch make_attention_batch(const Traffic& traffic, std::size_t view_index, const GroupBatch& group) {
  const BoundView& view = traffic.views[view_index];
  const AttentionGeometry& attention = *traffic.plan.specs[view.view.spec].attention;
  const auto [key, value] = key_value_bytes(view, attention);
  AttentionBatch batch;
  AttentionInputs& inputs = batch.inputs;
  inputs.metadata = group.common;
  inputs.is_decode = group.is_decode;
  inputs.mask = group.shape.mask;
  inputs.num_query_heads = group.shape.num_query_heads;
  inputs.key = traffic.pools.tensor(view, key);
  inputs.value = traffic.pools.tensor(view, value);
  inputs.key_codec = kv_codec(traffic, view_index, false);
  inputs.value_codec = kv_codec(traffic, view_index, true);
  inputs.scale = 1.0 / std::sqrt(static_cast<double>(inputs.head_size_k()));
  for (std::int64_t token = 0; token < inputs.num_tokens(); ++token) {
    const std::int64_t slot = inputs.metadata->slot_mapping[token];
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

}  // namespace hybridkv
