#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"

namespace hybridkv {

// ReplaySSM of vLLM 0.33: each page of a state holds a ring of the inputs of the last tokens too, from which kernels
// bring the state up to date, so that they write it only once in so many tokens and drafts need no states of their own.
// Source: vLLM 0.33.0 MambaStateShapeCalculator.append_replayssm_ring, MambaSpec, validate_mamba_cached_kernel.

/// Throws SpecError for a model or settings that the engine refuses with it.
void validate_replay(const ModelSpec& model, const EngineSpec& engine);

/// Rows of the ring: as many as tokens are kept, with FlashInfer's kernels those of one step more.
std::int64_t replay_rows(const EngineSpec& engine);

/// Lays the ring behind a Mamba-2 state: of each row x of every head and B of every group in the model's type, between
/// them an fp32 dt of each head. Pre: the state is that of a Mamba-2 layer.
/// Example: Nemotron-3-Super at TP1, 16 rows: 16 * (128 * 64 * 2 + 128 * 4 + 8 * 128 * 2) = 303,104 bytes.
void append_replay_ring(StateSpec& state, const ModelSpec& model, const EngineSpec& engine);

/// Where the axes of such a ring come from.
void derive_replay_ring(const SpecPlan& spec, const EngineSpec& engine, Derivation& derivation);

}  // namespace hybridkv
