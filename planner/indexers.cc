#include "planner/indexers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

bool has_indexers(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) { return layer.attention && layer.attention->indexer; });
}

bool has_one_indexer(const ModelSpec& model) {
  std::optional<IndexerSpec> one;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.attention || !sees_every_token(*layer.attention)) continue;
    if (!layer.attention->indexer || (one && *one != *layer.attention->indexer)) return false;
    one = layer.attention->indexer;
  }
  return one.has_value();
}

std::optional<IndexerSpec> indexer_of(const ModelSpec& model, std::int64_t layer) {
  if (layer < std::ssize(model.layers)) {
    const auto& attention = model.layers[static_cast<std::size_t>(layer)].attention;
    return attention ? attention->indexer : std::nullopt;
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
  for (LayerSpec& layer : model.layers)
    if (layer.attention) layer.attention->indexer.reset();
  if (model.mtp) model.mtp->indexer.reset();
  return model;
}

void require_whole_entries(const IndexerSpec& indexer, std::int64_t block_tokens, const char* key) {
  if (block_tokens % indexer.tokens_per_entry == 0) return;
  throw SpecError(key, fmt::format("a block of {} tokens holds no whole number of the indexer's entries, of which each "
                                   "stands for {}; take a multiple of {}", block_tokens, indexer.tokens_per_entry,
                                   indexer.tokens_per_entry));
}

}  // namespace hybridkv
