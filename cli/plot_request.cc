#include "cli/plot_request.h"

#include "cli/scenario_options.h"

namespace hybridkv {

PlotInputs plot_inputs(const Scenario& scenario) {
  PlotInputs inputs{.model = scenario.model,
                    .engine = scenario.engine,
                    .limits = scenario.limits,
                    .set = plan_scenario(scenario, scenario.pack_sizes),
                    .trace = scenario.simulate.trace};
  inputs.compared =
      scenario.packs_given ? inputs.set : plans_of_divisors(inputs.model, inputs.engine, inputs.limits, inputs.set);
  return inputs;
}

}  // namespace hybridkv
