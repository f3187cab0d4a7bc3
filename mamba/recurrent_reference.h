#pragma once

#include <span>

#include "mamba/recurrent_layer.h"
#include "mamba/reference_step.h"

namespace hybridkv {

/// The state at the start of a sequence: all zero.
RecurrentStateRef initial_state(const RecurrentSpec& rank_layer);

/// Runs tokens one by one in float64, slow and obviously right; every chunked form is compared with it.
/// `inputs` (token, input_width), `outputs` (token, output_width); the header of each family gives its
/// recurrence.
void run_reference(const RecurrentLayer& layer, std::span<const double> inputs, RecurrentStateRef& state,
                   std::span<double> outputs);

}  // namespace hybridkv
