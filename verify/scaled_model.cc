#include "verify/scaled_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

struct Scale {
  std::int64_t by;
  std::optional<KvFormat> format;

  std::int64_t heads(std::int64_t count) const { return std::max<std::int64_t>(1, count / by); }
  std::int64_t channels(std::int64_t count) const { return std::max(std::min<std::int64_t>(8, count), count / by); }
  std::int64_t width(std::int64_t count) const { return std::max(std::min<std::int64_t>(8, count), count / by / by); }

  /// Of a head of K or V.
  std::int64_t head_size(std::int64_t count) const {
    const std::int64_t unit = format == KvFormat::nvfp4 ? kv_format::nvfp4_group
                              : format == KvFormat::int4_per_token_head ? 2
                                                                        : 1;
    return round_up(channels(count), unit);
  }

  AttentionSpec operator()(AttentionSpec layer) const {
    const std::int64_t queries_per_head = layer.query_heads / layer.kv_heads;
    if (layer.kind == AttentionKind::mla) {
      layer.query_heads = heads(layer.query_heads);
      if (format == KvFormat::fp8_ds_mla) return layer;
      const std::int64_t rope = layer.head_size_k - layer.head_size_v;
      layer.head_size_v = channels(layer.head_size_v);
      layer.head_size_k = layer.head_size_v + (rope == 0 ? 0 : std::max<std::int64_t>(2, rope / by));
      return layer;
    }
    layer.kv_heads = heads(layer.kv_heads);
    layer.query_heads = queries_per_head * layer.kv_heads;
    layer.head_size_k = head_size(layer.head_size_k);
    layer.head_size_v = head_size(layer.head_size_v);
    if (layer.window_tokens > 0)
      layer.window_tokens = std::max(std::min<std::int64_t>(12, layer.window_tokens), layer.window_tokens / by / by);
    return layer;
  }

  RecurrentSpec operator()(GdnSpec layer) const {
    const std::int64_t values_per_key = layer.value_heads / layer.key_heads;
    layer.key_heads = heads(layer.key_heads);
    layer.value_heads = layer.key_heads * values_per_key;
    layer.key_head_dim = channels(layer.key_head_dim);
    layer.value_head_dim = channels(layer.value_head_dim);
    return layer;
  }
  RecurrentSpec operator()(Mamba2Spec layer) const {
    const std::int64_t heads_per_group = layer.heads / layer.groups;
    layer.groups = heads(layer.groups);
    layer.heads = layer.groups * std::max(std::min<std::int64_t>(2, heads_per_group), heads_per_group / by);
    layer.head_dim = channels(layer.head_dim);
    layer.state_size = channels(layer.state_size);
    layer.chunk_size = std::max(std::min<std::int64_t>(16, layer.chunk_size), layer.chunk_size / by);
    return layer;
  }
  RecurrentSpec operator()(Mamba1Spec layer) const {
    layer.inner_size = width(layer.inner_size);
    layer.state_size = channels(layer.state_size);
    return layer;
  }
  RecurrentSpec operator()(ShortConvSpec layer) const {
    layer.channels = width(layer.channels);
    return layer;
  }
  template <class ByHead>
  RecurrentSpec operator()(ByHead layer) const {
    layer.heads = heads(layer.heads);
    layer.head_dim = channels(layer.head_dim);
    return layer;
  }
};

}  // namespace

ModelSpec scaled_model(const ModelSpec& model, std::int64_t scale, std::optional<KvFormat> format) {
  expects(scale >= 1, "a scale divides");
  if (scale == 1) return model;
  const Scale scaled{scale, format};
  ModelSpec result = model;
  for (LayerSpec& layer : result.layers) {
    if (layer.attention) layer.attention = scaled(*layer.attention);
    if (layer.recurrent) layer.recurrent = std::visit(scaled, *layer.recurrent);
  }
  for (RecurrentSpec& layer : result.auxiliary) layer = std::visit(scaled, layer);
  if (result.mtp) result.mtp = scaled(*result.mtp);
  return result;
}

std::vector<std::string> changed_ratios(const ModelSpec& model, const ModelSpec& scaled) {
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto& recurrent = model.layers[i].recurrent;
    const auto* whole = recurrent ? std::get_if<Mamba2Spec>(&*recurrent) : nullptr;
    if (whole == nullptr) continue;
    const auto& part = std::get<Mamba2Spec>(*scaled.layers[i].recurrent);
    const std::int64_t before = whole->heads / whole->groups, after = part.heads / part.groups;
    if (before == after) continue;
    const std::string text = fmt::format("{} heads of mamba2 share B and C, of {}", after, before);
    if (std::find(changed.begin(), changed.end(), text) == changed.end()) changed.push_back(text);
  }
  return changed;
}

}  // namespace hybridkv
