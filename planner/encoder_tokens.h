#pragma once

#include <cstdint>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Does a layer attend to an encoder?
bool has_cross_attention(const ModelSpec& model);

/// Tokens of the encoder that a request keeps K and V of: as set, else the most that the model takes. Pre: one of both
/// is known, as validate_encoder sees to.
std::int64_t encoder_tokens_of(const ModelSpec& model, const EngineSpec& engine);

/// Refuses an encoder that the engine keeps no K and V of in blocks of their own, or does not keep so with other
/// settings, one of unknown length, and a length where there is no encoder. Throws SpecError. Source: vLLM
/// SchedulerConfig.__post_init__ and verify_max_model_len (whole prompts, no prefixes), unify_hybrid_kv_cache_specs.
void validate_encoder(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits);

}  // namespace hybridkv
