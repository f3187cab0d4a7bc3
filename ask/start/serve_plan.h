#pragma once

#include <cstdint>
#include <optional>

#include "engines/serve.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What of a start is no setting of its plan.
struct StartChoice {
  bool says_mode = false;                    ///< the cache mode, even where it is the engine's default
  bool enforce_eager = false;                ///< no graphs are captured
  std::optional<double> gpu_share;           ///< of a GPU, said in place of the memory for the cache
  std::optional<std::int64_t> max_num_seqs;  ///< most running requests; default: the scenario's
};

/// The command that starts an engine with a plan of the scenario. Settings that are the engine's own defaults are left
/// out.
ServeCommand serve_plan(const Scenario& scenario, const CachePlan& plan, const StartChoice& choice = {});

}  // namespace hybridkv
