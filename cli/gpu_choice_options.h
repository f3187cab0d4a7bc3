#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "ask/clock/gpu_choice.h"
#include "cli/clock_options.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"

namespace hybridkv {

/// Flags of a choice of GPUs, as they are typed.
struct GpuChoiceOptions {
  ClockOptions clock;                ///< but for its --gpus
  std::string gpus;                  ///< a range or a list; empty: the usual ones
  std::string good_share;            ///< in percent; empty: the usual one
  std::vector<std::string> routers;  ///< before several replicas
};

/// Adds --gpu, --clock, --gpus, --ttft, --tpot, --rate, --price, --good-share and --router to a command.
void add_gpu_choice_options(CLI::App& command, GpuChoiceOptions& options);

/// Are GPUs to be chosen? Throws InputError for flags of such a choice without --gpu.
bool chooses_gpus(const GpuChoiceOptions& options);

/// What they ask of a scenario. `settings_for`: what is searched for it. Pre: chooses_gpus. Throws as timed_question,
/// and InputError for numbers of GPUs and shares that are none, and for a driver beside them.
GpuChoiceQuestion gpu_choice_question(const GpuChoiceOptions& options, const ScenarioOptions& scenario,
                                      const SimpleTraffic& traffic,
                                      const std::function<RecommendQuestion(const Scenario&)>& settings_for);

}  // namespace hybridkv
