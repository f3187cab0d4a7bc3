#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// The last tokens of a request, as many as its draft tokens make necessary.
struct RingSpec {
  std::int64_t tokens = 0;
  std::int64_t bytes_per_token = 0;
  bool operator==(const RingSpec&) const = default;
};

/// Layers of a model that cache the same thing; the seed of a SpecPlan.
/// Invariant: exactly one of `attention`, `recurrent` and `ring` is set.
struct LayerSet {
  std::optional<AttentionSpec> attention;
  std::optional<RecurrentSpec> recurrent;
  bool draft = false;                ///< layers count from 0 in a list of their own
  bool auxiliary = false;            ///< a group of its own, outside the sizing of groups
  std::vector<std::int64_t> layers;  ///< ascending
  std::optional<RingSpec> ring;      ///< of layers with attention, whose numbers it has

  /// "full_attention", "gdn", …
  std::string kind() const;
};

/// Collects the layers of identical spec, in the order in which their specs first appear in the model; with several
/// kinds in one layer attention comes first, then attention to an encoder. MTP layers go on counting after the model's
/// and join their spec; draft layers follow, then the auxiliary ones of the model and the hidden states of the engine,
/// each a set of its own that goes on counting. In one allocation indexers and rings are layers too, with the numbers
/// of those that they belong to: an indexer behind its attention, whose table it shares, the rings of the model behind
/// all others.
/// Throws SpecError("engine.mtp_layers") for MTP layers of a model whose MTP attention is unknown.
/// Source: vLLM get_kv_cache_groups.
std::vector<LayerSet> collect_layer_sets(const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
