#pragma once

#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// What lies beside the pages, and block ids beside tokens and states, as the model declares them; without what the
/// specs have as layers.
std::vector<ExtraPlan> make_extras(std::span<const SpecPlan> specs, const ModelSpec& model, const DerivationLog& log);

}  // namespace hybridkv
