#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Ranks that share the heads and channels of every layer, ascending: at most `most` of those up to 1,024.
std::vector<std::int64_t> ranks_that_share(const ModelSpec& model, const EngineSpec& engine, std::size_t most = 16);

/// The refusal with a way out: the numbers of ranks for which the whole model can be planned, and engine.pad_heads
/// where it makes the refused number one of them. `plan` throws SpecError for settings that cannot be planned.
SpecError with_working_ranks(const SpecError& refusal, const ModelSpec& model, const EngineSpec& engine,
                             const std::function<void(const EngineSpec&)>& plan);

}  // namespace hybridkv
