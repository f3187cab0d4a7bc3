#include "verify/scaled_model.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/checked.h"
#include "mamba/reduction.h"
#include "planner/indexers.h"

namespace hybridkv {

namespace {

/// How layers of attention shrink; recurrent ones know it themselves.
struct Scale : Reduction {
  std::optional<KvFormat> format;

  /// Of a head of K or V.
  std::int64_t head_size(std::int64_t count) const {
    const std::int64_t unit = format == KvFormat::nvfp4 ? kv_format::nvfp4_group
                              : format == KvFormat::int4_per_token_head ? 2
                                                                        : 1;
    return round_up(channels(count), unit);
  }

  AttentionSpec operator()(AttentionSpec layer) const {
    if (layer.window_tokens > 0)
      layer.window_tokens = std::max(std::min<std::int64_t>(12, layer.window_tokens), layer.window_tokens / by / by);
    const std::int64_t queries_per_head = layer.query_heads / layer.kv_heads;
    if (layer.kind == AttentionKind::mla) {
      layer.query_heads = heads(layer.query_heads);
      if (format && keeps_latents(*format)) return layer;
      const std::int64_t rope = layer.head_size_k - layer.head_size_v;
      layer.head_size_v = channels(layer.head_size_v);
      layer.head_size_k = layer.head_size_v + (rope == 0 ? 0 : std::max<std::int64_t>(2, rope / by));
      return layer;
    }
    layer.kv_heads = heads(layer.kv_heads);
    layer.query_heads = queries_per_head * layer.kv_heads;
    layer.head_size_k = head_size(layer.head_size_k);
    layer.head_size_v = head_size(layer.head_size_v);
    return layer;
  }

  /// Of a layer that reads another one, which has been scaled: in proportion to the heads that it reads.
  std::int64_t queries(const ModelSpec& whole, const ModelSpec& small, const SharedKv& shared) const {
    const auto source = static_cast<std::size_t>(shared.source);
    if (whole.layers[source].attention->kind == AttentionKind::mla) return heads(shared.query_heads);
    return shared.query_heads / whole.layers[source].attention->kv_heads * small.layers[source].attention->kv_heads;
  }

  RecurrentSpec operator()(const RecurrentSpec& layer) const {
    return std::visit([&](const auto& family) { return RecurrentSpec(reduced(family, *this)); }, layer);
  }
};

}  // namespace

ModelSpec scaled_model(const ModelSpec& model, std::int64_t scale, std::optional<KvFormat> format) {
  expects(scale >= 1, "a scale divides");
  ModelSpec result = without_indexers(model);  // no network computes them, nor rings
  result.ring_tokens = result.ring_bytes_per_token = 0;
  if (scale == 1) return result;
  const Scale scaled{{scale}, format};
  for (LayerSpec& layer : result.layers) {
    if (layer.shared) layer.shared->query_heads = scaled.queries(model, result, *layer.shared);
    if (layer.attention) layer.attention = scaled(*layer.attention);
    if (layer.cross) layer.cross = scaled(*layer.cross);
    if (layer.recurrent) layer.recurrent = scaled(*layer.recurrent);
  }
  for (RecurrentSpec& layer : result.auxiliary) layer = scaled(layer);
  if (result.mtp) result.mtp = scaled(*result.mtp);
  return result;
}

std::vector<std::string> changed_ratios(const ModelSpec& model, const ModelSpec& scaled) {
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].recurrent) continue;
    const std::string text = std::visit([&](const auto& whole) -> std::string {
      const auto changed_ratio = family_of(whole).changed_ratio;
      return changed_ratio ? changed_ratio(whole, std::get<std::decay_t<decltype(whole)>>(*scaled.layers[i].recurrent))
                           : "";
    }, *model.layers[i].recurrent);
    if (text.empty()) continue;
    if (std::find(changed.begin(), changed.end(), text) == changed.end()) changed.push_back(text);
  }
  return changed;
}

}  // namespace hybridkv
