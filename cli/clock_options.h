#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "ask/clock/timed_replay.h"
#include "cli/scenario_options.h"

namespace hybridkv {

/// Flags of a replay by a clock, as they are typed.
struct ClockOptions {
  std::string gpu, clock, ttft, tpot, rate, price;
  std::int64_t gpus = 0;
};

/// Adds --gpu and --clock to a command.
void add_gpu_options(CLI::App& command, ClockOptions& options);

/// The same and --gpus, the number of those of a replica.
void add_served_options(CLI::App& command, ClockOptions& options);

/// Adds --ttft, --tpot and --rate to a command. `rates`: what --rate is there.
void add_service_options(CLI::App& command, ClockOptions& options, const char* rates);

/// Adds --gpu, --gpus, --clock, --ttft, --tpot, --rate and --price to a command.
void add_clock_options(CLI::App& command, ClockOptions& options);

/// Adds --price to a command.
void add_price_option(CLI::App& command, ClockOptions& options);

/// What they ask; nothing without --gpu. Throws InputError for values that are none, and for the others without --gpu.
std::optional<TimedQuestion> timed_question(const ClockOptions& options);

/// The rates of --rate; several draw a curve of load. Throws InputError for what is none.
std::vector<double> rates_of(const ClockOptions& options);

/// Does the question say how much memory the cache has?
bool says_memory(const ScenarioOptions& options);

/// The scenario of a command with a GPU: where nobody says the memory of the cache, what the GPU has left beside the
/// model's weights. Throws as read_scenario, and InputError where nothing is left.
Scenario read_scenario_on(const ScenarioOptions& options, const std::optional<TimedQuestion>& timed);

/// The same, the flags laid over what it says of its clock. Throws InputError also for values that are none, and for
/// flags of a clock where neither they nor the scenario say a GPU.
Scenario read_scenario_on(const ScenarioOptions& options, const ClockOptions& clock);

/// Throws InputError for any of the flags on a cache without a model, whose steps take no time.
void refuse_clock(const ClockOptions& options);

/// The same, and what was assumed of it is not said.
Scenario scenario_on(const ScenarioOptions& options, const std::optional<TimedQuestion>& timed);

/// The two steps of that: the cache has all memory of the GPU until a scenario is read, and then leaves the weights of
/// its model, as its engine splits them, theirs.
ScenarioOptions with_all_memory(const ScenarioOptions& options, const TimedQuestion& timed);
void leave_to_weights(Scenario& scenario, const TimedQuestion& timed);

}  // namespace hybridkv
