#pragma once

#include "planner/derivation.h"
#include "planner/layer_specs.h"

namespace hybridkv {

/// What engine.pad_heads asks for: the set with as many heads added as engines add so that ranks share them evenly. The
/// set itself where ranks can share its heads anyway, or where no engine pads layers of its kind.
/// Source: SGLang adjust_config_with_unaligned_cpu_tp.
LayerSet with_padded_heads(LayerSet set, std::int64_t tensor_parallel);

/// Says of every number of heads that grew why it did. `label`: of the spec, as spec_label gives it.
void derive_padding(const LayerSet& set, const LayerSet& padded, const EngineSpec& engine, const std::string& label,
                    Derivation& derivation);

/// The set with the heads that an engine with tree pools counts for ranks that cannot share them: one group of B and
/// C, and one key head of gdn, for every rank, and KV heads so that a rank has max(1, KV heads // TP). Query heads are
/// left out because no cache depends on them. The engine sizes its pools by these numbers before it refuses to load
/// such a model.
/// Source: SGLang 0.5.23, run.
LayerSet with_counted_heads(LayerSet set, std::int64_t tensor_parallel);

/// Says of every number of heads that is counted otherwise why it is.
void derive_counted_heads(const LayerSet& set, const LayerSet& counted, const EngineSpec& engine,
                          const std::string& label, Derivation& derivation);

}  // namespace hybridkv
