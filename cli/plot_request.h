#pragma once

#include "report/plot_inputs.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// The plans of a scenario as `plot` and `report` draw them; against the pack size, those of the scenario or, where it
/// names none, the packs that divide the attention layers. Throws InputError with the place of what cannot be planned.
PlotInputs plot_inputs(const Scenario& scenario);

}  // namespace hybridkv
