#pragma once

#include <string>
#include <vector>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// Fields of a published config that change what an engine caches and that the model file made of it does not hold: a
/// sentence each, with the value, what is planned instead and the way to plan it. Windows and chunks that no layer is
/// declared to have, a quantised KV cache, multi-token-prediction layers, K/V shared between layers, indexers, layer
/// patterns that its architecture does not go by. Pre: `model` is import_hf_fields of these fields.
std::vector<std::string> unused_hf_fields(const HfFields& fields, const YamlNode& model);

}  // namespace hybridkv
