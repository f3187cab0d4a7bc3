#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/model_parameters.h"
#include "report/document.h"

namespace hybridkv {

/// "27.36 B", and of a model with experts what one token takes: "122.56 B, 10.22 B active".
std::string parameters_text(const ModelParameters& parameters);

/// The parameters of a model by kind of layer and part.
Facts parameters_facts(const ModelParameters& parameters);

/// {total, active, draft, experts, experts_per_token, layers: [{kind, PART: …}], beside: {PART: …}, not_counted[]}.
nlohmann::ordered_json parameters_json(const ModelParameters& parameters);

}  // namespace hybridkv
