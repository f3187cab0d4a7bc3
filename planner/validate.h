#pragma once

#include <cstdint>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Checks every number of the specs for itself: counts and sizes in range (largest_count, largest_dimension,
/// largest_tokens), at least one layer and one length, windows where the kind needs them, heads that share others
/// (query heads KV heads, value heads key heads, mamba2's heads its groups) a multiple of them, one latent for mla,
/// full
/// attention or a sliding window for drafts, and the form mla for mla layers alone. Throws SpecError with the field,
/// the value and what is allowed.
void validate(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits);

/// Checks the counts of a stated batch. Throws SpecError as above.
void validate(const WorkspaceSpec& batch);

}  // namespace hybridkv
