#pragma once

#include "planner/derivation.h"
#include "planner/layer_specs.h"

namespace hybridkv {

/// engine.pad_heads: a set whose heads the ranks share evenly, with as few heads more as engines that pad add; the set
/// itself where the ranks share them as they are, or where no engine pads its kind of layer.
/// Source: SGLang adjust_config_with_unaligned_cpu_tp.
LayerSet with_padded_heads(LayerSet set, std::int64_t tensor_parallel);

/// Says of every number of heads that grew why it did. `label`: of the spec, as spec_label gives it.
void derive_padding(const LayerSet& set, const LayerSet& padded, const EngineSpec& engine, const std::string& label,
                    Derivation& derivation);

/// A set as an engine with radix pools counts its heads where ranks cannot share them, whatever comes of it: groups of
/// B and C and key heads of gdn as many as ranks, KV heads so that a rank has max(1, KV heads // TP), query heads, on
/// which no cache depends, left out. Its pools are sized so, before it refuses to load such a model.
/// Source: SGLang 0.5.23, run.
LayerSet with_counted_heads(LayerSet set, std::int64_t tensor_parallel);

/// Says of every number of heads that is counted otherwise why it is.
void derive_counted_heads(const LayerSet& set, const LayerSet& counted, const EngineSpec& engine,
                          const std::string& label, Derivation& derivation);

}  // namespace hybridkv
