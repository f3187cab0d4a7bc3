#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/attention_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Has any layer of the model an indexer?
bool has_indexers(const ModelSpec& model);

/// Do all layers with full attention have the same one?
bool has_one_indexer(const ModelSpec& model);

/// That of a layer of a plan: of the model's own, or behind them of an MTP layer.
std::optional<IndexerSpec> indexer_of(const ModelSpec& model, std::int64_t layer);

/// Gives one to every layer with full attention that has none.
void add_indexers(ModelSpec& model, const IndexerSpec& indexer);

/// The model as it is without any.
ModelSpec without_indexers(ModelSpec model);

/// These layers and those that read their K and V, in ascending order: all that may have indexers beside them.
std::vector<std::int64_t> with_readers(const ModelSpec& model, std::span<const std::int64_t> layers);

/// Throws SpecError(key) where entries of an indexer would lie in two blocks of so many tokens, or in part of one.
void require_whole_entries(const IndexerSpec& indexer, std::int64_t block_tokens, const char* key);

}  // namespace hybridkv
