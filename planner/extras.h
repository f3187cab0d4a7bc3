#pragma once

#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Bytes that lie beside the pages, and block ids that requests take beside those of tokens and states, as the model
/// declares them. What already is a layer of some spec is left out.
std::vector<ExtraPlan> make_extras(std::span<const SpecPlan> specs, const ModelSpec& model, const DerivationLog& log);

}  // namespace hybridkv
