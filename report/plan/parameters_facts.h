#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/model_parameters.h"
#include "report/document.h"

namespace hybridkv {

/// "27.36 B", below a tenth of a billion "16.4 M", below a tenth of a million "4,096".
std::string parameter_count_text(std::int64_t count);

/// The parameters of a model by kind of layer and part.
Facts parameters_facts(const ModelParameters& parameters);

/// {total, active, draft, experts, experts_per_token, layers: [{kind, PART: …}], beside: {PART: …}, not_counted[]}.
nlohmann::ordered_json parameters_json(const ModelParameters& parameters);

}  // namespace hybridkv
