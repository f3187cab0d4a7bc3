#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// The layers of a model that read the K and V of others.
std::vector<SharedLayer> shared_layers(const ModelSpec& model);

/// "layers 20 to 29 read the K and V of layers 18 and 19". Pre: not empty.
std::string shared_layers_text(std::span<const SharedLayer> layers);

/// Writes down that they cache nothing, where there are any.
void derive_shared_layers(std::span<const SharedLayer> layers, const DerivationLog& log);

}  // namespace hybridkv
