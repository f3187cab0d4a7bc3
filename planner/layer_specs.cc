#include "planner/layer_specs.h"

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

void add_layer(std::vector<LayerSet>& sets, std::int64_t layer, const std::optional<AttentionSpec>& attention,
               const std::optional<RecurrentSpec>& recurrent, bool draft) {
  auto same = std::find_if(sets.begin(), sets.end(), [&](const LayerSet& set) {
    return set.attention == attention && set.recurrent == recurrent && set.draft == draft && !set.auxiliary;
  });
  if (same == sets.end()) same = sets.insert(sets.end(), LayerSet{attention, recurrent, draft, false, {}});
  same->layers.push_back(layer);
}

/// Attention of one MTP layer: the model's own, else that of its first layer with full attention.
AttentionSpec mtp_attention(const ModelSpec& model) {
  if (model.mtp) return *model.mtp;
  for (const LayerSpec& layer : model.layers)
    if (layer.attention &&
        (layer.attention->kind == AttentionKind::full || layer.attention->kind == AttentionKind::mla))
      return *layer.attention;
  throw SpecError("engine.mtp_layers", "model " + model.name +
                                           " has no full-attention layer for the MTP layers to join; give model.mtp "
                                           "or set mtp_layers to 0");
}

}  // namespace

std::string LayerSet::kind() const {
  return std::string(attention ? to_string(attention->kind) : family_name(*recurrent));
}

std::vector<LayerSet> collect_layer_sets(const ModelSpec& model, const EngineSpec& engine) {
  std::vector<LayerSet> sets;
  std::int64_t number = 0;
  for (const LayerSpec& layer : model.layers) {
    if (layer.attention) add_layer(sets, number, layer.attention, std::nullopt, false);
    if (layer.recurrent) add_layer(sets, number, std::nullopt, layer.recurrent, false);
    ++number;
  }
  for (std::int64_t i = 0; i < engine.mtp_layers; ++i)
    add_layer(sets, number++, mtp_attention(model), std::nullopt, false);
  if (engine.draft)
    for (std::int64_t i = 0; i < engine.draft->layers; ++i)
      add_layer(sets, i, engine.draft->attention, std::nullopt, true);
  for (const RecurrentSpec& layer : model.auxiliary) sets.push_back({std::nullopt, layer, false, true, {number++}});
  if (engine.hidden_state_size > 0) {
    const AttentionSpec layer{.kind = AttentionKind::hidden_state, .kv_heads = 1,
                              .head_size_k = engine.hidden_state_size, .head_size_v = engine.hidden_state_size};
    sets.push_back({layer, std::nullopt, false, true, {number++}});
  }
  return sets;
}

}  // namespace hybridkv
