#include "planner/indexers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

bool has_indexers(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return (layer.attention && layer.attention->indexer) || (layer.shared && layer.shared->indexer);
  });
}

bool has_one_indexer(const ModelSpec& model) {
  std::optional<IndexerSpec> one;
  for (const LayerSpec& layer : model.layers) {
    if (layer.shared && layer.shared->indexer) return false;
    if (!layer.attention || !sees_every_token(*layer.attention)) continue;
    if (!layer.attention->indexer || (one && *one != *layer.attention->indexer)) return false;
    one = layer.attention->indexer;
  }
  return one.has_value();
}

std::optional<IndexerSpec> indexer_of(const ModelSpec& model, std::int64_t layer) {
  if (layer < std::ssize(model.layers)) {
    const LayerSpec& own = model.layers[static_cast<std::size_t>(layer)];
    return own.attention ? own.attention->indexer : own.shared ? own.shared->indexer : std::nullopt;
  }
  if (model.mtp) return model.mtp->indexer;
  for (const LayerSpec& own : model.layers)
    if (own.attention && sees_every_token(*own.attention)) return own.attention->indexer;
  return std::nullopt;
}

void add_indexers(ModelSpec& model, const IndexerSpec& indexer) {
  const auto add = [&](std::optional<AttentionSpec>& attention) {
    if (attention && sees_every_token(*attention) && !attention->indexer) attention->indexer = indexer;
  };
  for (LayerSpec& layer : model.layers) add(layer.attention);
  add(model.mtp);
}

ModelSpec without_indexers(ModelSpec model) {
  for (LayerSpec& layer : model.layers) {
    if (layer.attention) layer.attention->indexer.reset();
    if (layer.shared) layer.shared->indexer.reset();
  }
  if (model.mtp) model.mtp->indexer.reset();
  return model;
}

std::vector<std::int64_t> with_readers(const ModelSpec& model, std::span<const std::int64_t> layers) {
  std::vector<std::int64_t> all(layers.begin(), layers.end());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::optional<SharedKv>& shared = model.layers[i].shared;
    if (shared && std::find(layers.begin(), layers.end(), shared->source) != layers.end())
      all.push_back(static_cast<std::int64_t>(i));
  }
  std::sort(all.begin(), all.end());
  return all;
}

void require_whole_entries(const IndexerSpec& indexer, std::int64_t block_tokens, const char* key) {
  if (block_tokens % indexer.tokens_per_entry == 0) return;
  throw SpecError(key, fmt::format("a block of {} tokens holds no whole number of the indexer's entries, of which each "
                                   "stands for {}; take a multiple of {}", block_tokens, indexer.tokens_per_entry,
                                   indexer.tokens_per_entry));
}

}  // namespace hybridkv
