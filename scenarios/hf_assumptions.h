#pragma once

#include <string>
#include <vector>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// What import takes for granted of a config whose model_type no class of the table has: each assumption with the field
/// that would say it. `model` is the tree that the config became. Empty for a config of a known class.
std::vector<std::string> hf_assumptions(const HfFields& fields, const YamlNode& model);

/// Refuses a config of an unknown class that speaks of recurrent layers where none was understood, with InputError at
/// that field: a model planned as plain attention would be wrong in silence.
void refuse_unread_states(const HfFields& fields, const YamlNode& model);

}  // namespace hybridkv
