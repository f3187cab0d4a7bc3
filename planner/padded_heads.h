#pragma once

#include "base/error.h"
#include "planner/derivation.h"
#include "planner/layer_specs.h"

namespace hybridkv {

/// engine.pad_heads: a set whose heads the ranks share evenly, with as few heads more as engines that pad add; the set
/// itself where the ranks share them as they are, or where no engine pads its kind of layer.
/// Source: SGLang adjust_config_with_unaligned_cpu_tp.
LayerSet with_padded_heads(LayerSet set, std::int64_t tensor_parallel);

/// Says of every number of heads that grew why it did. `label`: of the spec, as spec_label gives it.
void derive_padding(const LayerSet& set, const LayerSet& padded, std::int64_t tensor_parallel, const std::string& label,
                    Derivation& derivation);

/// The refusal of ranks that cannot share the heads of a set, with engine.pad_heads as a way out where that helps.
SpecError offer_padding(const SpecError& refusal, const LayerSet& set, const EngineSpec& engine);

}  // namespace hybridkv
