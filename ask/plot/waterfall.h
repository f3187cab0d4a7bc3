#pragma once

#include <string>
#include <vector>

#include "ask/plot/plot_inputs.h"
#include "simulator/losses/reuse_loss.h"

namespace hybridkv {

/// Where the tokens of a trace went, for each plan of PlotInputs::set.
struct Waterfalls {
  std::string trace;              ///< what was replayed, in words
  std::vector<LossStats> plans;
};

/// Throws SpecError where a plan cannot be simulated.
Waterfalls waterfalls(const PlotInputs& inputs);

}  // namespace hybridkv
