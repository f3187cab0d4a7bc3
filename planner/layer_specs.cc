#include "planner/layer_specs.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/checked.h"
#include "base/error.h"
#include "planner/indexers.h"

namespace hybridkv {

namespace {

/// An indexer is a layer of its own or lies beside the pages: either way it does not tell K and V apart.
void add_layer(std::vector<LayerSet>& sets, std::int64_t layer, std::optional<AttentionSpec> attention,
               const std::optional<RecurrentSpec>& recurrent, bool draft, bool drafts_join = false) {
  if (attention) attention->indexer.reset();
  auto same = std::find_if(sets.begin(), sets.end(), [&](const LayerSet& set) {
    return set.attention == attention && set.recurrent == recurrent && (drafts_join || set.draft == draft) &&
           !set.auxiliary;
  });
  if (same == sets.end()) same = sets.insert(sets.end(), LayerSet{attention, recurrent, draft, false, {}});
  same->layers.push_back(layer);
}

/// Attention of one MTP layer: the model's own, else that of its first layer with full attention.
AttentionSpec mtp_attention(const ModelSpec& model) {
  if (model.mtp) return *model.mtp;
  for (const LayerSpec& layer : model.layers)
    if (layer.attention && sees_every_token(*layer.attention)) return *layer.attention;
  throw SpecError("engine.mtp_layers", "model " + model.name +
                                           " has no full-attention layer for the MTP layers to join; give model.mtp "
                                           "or set mtp_layers to 0");
}

/// Without a manager of several kinds of layers those with a window keep every token, as full attention does.
void forget_windows(std::vector<LayerSet>& sets) {
  std::vector<LayerSet> merged;
  for (LayerSet& set : sets) {
    if (set.attention && set.attention->window_tokens > 0) {
      if (set.attention->kind != AttentionKind::mla) set.attention->kind = AttentionKind::full;
      set.attention->window_tokens = 0;
    }
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const LayerSet& other) {
      return other.attention == set.attention && other.recurrent == set.recurrent && !other.auxiliary &&
             !set.auxiliary;
    });
    if (same == merged.end())
      merged.push_back(std::move(set));
    else
      same->layers.insert(same->layers.end(), set.layers.begin(), set.layers.end());
  }
  for (LayerSet& set : merged) std::sort(set.layers.begin(), set.layers.end());
  sets = std::move(merged);
}

/// The indexers of some layers, those that keep the same in one set.
std::vector<LayerSet> indexer_sets(const ModelSpec& model, std::span<const std::int64_t> layers) {
  std::vector<LayerSet> sets;
  for (const std::int64_t layer : layers) {
    const std::optional<IndexerSpec> indexer = indexer_of(model, layer);
    if (!indexer) continue;
    const auto same = std::find_if(sets.begin(), sets.end(),
                                   [&](const LayerSet& set) { return set.attention->indexer == indexer; });
    if (same != sets.end()) {
      same->layers.push_back(layer);
      continue;
    }
    const AttentionSpec row{.kind = AttentionKind::indexer, .kv_heads = 1, .head_size_k = indexer->bytes_per_entry,
                            .head_size_v = indexer->bytes_per_entry, .indexer = indexer};
    sets.push_back({.attention = row, .auxiliary = true, .layers = {layer}});
  }
  return sets;
}

/// The indexers and the rings of the layers that see every token of the model.
void add_sparse_layers(std::vector<LayerSet>& sets, const ModelSpec& model, const EngineSpec& engine) {
  const auto is_sparse = [](const LayerSet& set) {
    return set.attention && !set.draft && !set.auxiliary && sees_every_token(*set.attention);
  };
  LayerSet rings{.auxiliary = true, .ring = RingSpec{0, model.ring_bytes_per_token}};
  for (const LayerSet& set : sets)
    if (is_sparse(set)) rings.layers.insert(rings.layers.end(), set.layers.begin(), set.layers.end());
  for (std::size_t i = sets.size(); i-- > 0;) {
    if (!is_sparse(sets[i])) continue;
    std::vector<LayerSet> indexers = indexer_sets(model, with_readers(model, sets[i].layers));
    sets.insert(sets.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move_iterator(indexers.begin()),
                std::move_iterator(indexers.end()));
  }
  if (model.ring_tokens == 0 || rings.layers.empty()) return;
  // A ring grows by whole rings, so that the drafts of a step do not overwrite tokens that are still read.
  rings.ring->tokens = round_up(Checked(model.ring_tokens) + engine.speculative_tokens, model.ring_tokens);
  std::sort(rings.layers.begin(), rings.layers.end());
  sets.push_back(std::move(rings));
}

std::vector<LayerSet> all_layer_sets(const ModelSpec& model, const EngineSpec& engine) {
  std::vector<LayerSet> sets;
  std::int64_t number = 0;
  for (const LayerSpec& layer : model.layers) {
    if (layer.attention) add_layer(sets, number, layer.attention, std::nullopt, false);
    if (layer.cross) add_layer(sets, number, layer.cross, std::nullopt, false);
    if (layer.recurrent) add_layer(sets, number, std::nullopt, layer.recurrent, false);
    ++number;
  }
  for (std::int64_t i = 0; i < engine.mtp_layers; ++i)
    add_layer(sets, number++, mtp_attention(model), std::nullopt, false);
  if (engine.draft) {
    const bool join = engine.rules->drafts_join;
    for (std::int64_t i = 0; i < engine.draft->layers; ++i)
      add_layer(sets, join ? number++ : i, engine.draft->attention, std::nullopt, true, join);
  }
  for (const RecurrentSpec& layer : model.auxiliary) sets.push_back({std::nullopt, layer, false, true, {number++}});
  if (engine.hidden_state_size > 0) {
    const AttentionSpec layer{.kind = AttentionKind::hidden_state, .kv_heads = 1,
                              .head_size_k = engine.hidden_state_size, .head_size_v = engine.hidden_state_size};
    sets.push_back({layer, std::nullopt, false, true, {number++}});
  }
  return sets;
}

}  // namespace

std::string LayerSet::kind() const {
  if (ring) return "ring";
  return std::string(attention ? to_string(attention->kind) : family_name(*recurrent));
}

std::vector<LayerSet> collect_layer_sets(const ModelSpec& model, const EngineSpec& engine) {
  std::vector<LayerSet> sets = all_layer_sets(model, engine);
  if (!engine.hybrid_manager) forget_windows(sets);
  if (has_one_allocation(engine)) add_sparse_layers(sets, model, engine);
  return sets;
}

}  // namespace hybridkv
