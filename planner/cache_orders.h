#pragma once

#include <span>
#include <vector>

#include "attention/attention_spec.h"
#include "attention/cache_order.h"
#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// What one token of one layer looks like in an allocation of all layers, per rank.
struct HeadPlaces {
  std::int64_t heads = 1;          ///< places of a token; of a latent and of a state 1, of nvfp4 two a head: K and V
  std::int64_t content_bytes = 0;  ///< of a place: K then V; of a state all of it
};
HeadPlaces head_places(const SpecPlan& spec);

/// Is every spec attention with one window and one block, or an indexer of such? Then one table serves them all,
/// though their pages may differ.
bool is_one_kind(std::span<const SpecPlan> specs);

/// Orders in which these layers can lie: all six where they have equal heads, tokens and pages, else those without
/// heads outside blocks or layers, and beside rings, indexers among layers of several kinds, and in packs, those with
/// the bytes of a block together. Source: vLLM 0.33 KVCacheLayout.
std::vector<CacheOrder> possible_orders(std::span<const SpecPlan> specs);

/// The order that was asked for, else the first that the model's own attention, or the backends, prefer. Pre: blocks
/// are set.
/// Throws SpecError("engine.physical_order") for one that layers or backends do not have.
CacheOrder choose_order(std::span<const SpecPlan> specs, const ModelSpec& model, const EngineSpec& engine,
                        const DerivationLog& log);

}  // namespace hybridkv
