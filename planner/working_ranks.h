#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Ranks that share the heads and channels of every layer, ascending: at most `most` of those up to 1,024.
std::vector<std::int64_t> ranks_that_share(const ModelSpec& model, const EngineSpec& engine, std::size_t most = 16);

/// The refusal of ranks that one layer cannot be shared by, with numbers of ranks that the whole model can be planned
/// for as the way out, and engine.pad_heads where that makes the asked number one. `plan` throws SpecError for settings
/// that cannot be planned.
SpecError with_working_ranks(const SpecError& refusal, const ModelSpec& model, const EngineSpec& engine,
                             const std::function<void(const EngineSpec&)>& plan);

}  // namespace hybridkv
