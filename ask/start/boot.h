#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/kernels/kernel_card.h"
#include "ask/start/memory_budget.h"
#include "engines/serve.h"
#include "planner/cache_plan.h"
#include "scenarios/read.h"

namespace hybridkv {

/// The memory of a GPU, from which that of the cache follows.
struct GpuQuestion {
  Gpu gpu;
  double utilization = 0.9;
  std::optional<std::int64_t> weights_bytes;  ///< of one rank, measured; default: counted from the parameters
  std::optional<std::int64_t> beside_bytes;  ///< beside weights and cache; default: estimated
};

/// A flag and its value as a shell takes them: "--max-model-len", "32768".
using TypedFlag = std::pair<std::string, std::string>;

/// Will an engine start with this?
struct BootQuestion {
  ScenarioFile file;                         ///< with engine.memory, unless a GPU gives it
  std::optional<GpuQuestion> gpu;
  std::optional<std::int64_t> printed_memory;  ///< engine.memory as an engine prints it, rounded to 0.01 GiB
  std::optional<std::int64_t> max_num_seqs;  ///< default: the scenario's, the GPU's, else 256
  bool enforce_eager = false;                ///< no graphs are captured
  std::vector<KernelCard> kernels;           ///< that the plan is held against
  std::string scenario_word;                 ///< SCENARIO as typed; empty: none
  std::vector<TypedFlag> typed;              ///< flags that say all this, for commands to try
};

/// Why an engine does not start, in the order in which it finds out.
struct BootFailure {
  std::string code;     ///< stable: "memory", "longest_request", "running_requests"
  std::string message;  ///< with the numbers
};

/// A command that starts.
struct BootTry {
  std::string command;  ///< `hybridkv boot …`, planned to be sure
  std::string what;     ///< what it changes and to what
};

struct BootAnswer {
  std::string model;
  const EngineRules* rules = nullptr;
  std::optional<BackendProfile> backend_profile;
  std::optional<MemoryBudget> budget;
  std::int64_t memory_bytes = 0;       ///< of the cache on one rank
  std::int64_t length = 0;             ///< max_model_len, tokens
  std::int64_t ranks = 1;              ///< of tensor parallelism
  std::int64_t max_num_seqs = 0;
  std::int64_t state_blocks = 0;       ///< that running requests can have; 0: the model has no states
  std::optional<CachePlan> plan;       ///< numbers, and what it does to the kernels of the question, for which it has
                                       ///< views; nothing where not even the shortest request has room
  std::vector<std::string> lines;      ///< what the engine prints, as it words and rounds it
  std::vector<BootFailure> failures;   ///< the first is what the engine says
  std::vector<std::string> warnings;
  std::vector<std::string> estimates;  ///< what is estimated rather than derived, and by how much it was off
  std::vector<BootTry> tries;          ///< where it does not start, or a warning has a way out
  ServeCommand serve;                  ///< that starts it; empty where it does not
  bool boots() const { return failures.empty(); }
  /// What the plan does to the kernels of the question; none where there is no plan.
  std::vector<KernelFit> kernels() const { return plan ? plan->kernels : std::vector<KernelFit>(); }
};

/// Plans the start of an engine: what it prints, and what stops it. The release is that of today where the
/// scenario says none. Throws InputError as read_scenario, plan_scenario and counted_weights, and where nobody knows
/// how it starts.
BootAnswer boot(const BootQuestion& question);

}  // namespace hybridkv
