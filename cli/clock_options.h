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

/// Adds --gpu, --gpus and --clock to a command.
void add_served_options(CLI::App& command, ClockOptions& options);

/// Adds --gpu, --gpus, --clock, --ttft, --tpot, --rate and --price to a command.
void add_clock_options(CLI::App& command, ClockOptions& options);

/// The rates of --rate; several draw a curve of load. Throws InputError for what is none.
std::vector<double> rates_of(const ClockOptions& options);

/// The scenario of a command with a GPU, the flags laid over what it says of its clock: where nobody says the memory of
/// the cache, what the GPU has left beside the model's weights. Throws as read_scenario, and InputError where nothing
/// is left, for values that are none, and for flags of a clock where neither they nor the scenario say a GPU.
Scenario read_scenario_on(const ScenarioOptions& options, const ClockOptions& clock);

/// Throws InputError for any of the flags on a cache without a model, whose steps take no time.
void refuse_clock(const ClockOptions& options);

}  // namespace hybridkv
