#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "clock/clock_file.h"
#include "clock/step_clock.h"
#include "engines/engine.h"
#include "engines/gpus.h"
#include "scenarios/scenario.h"
#include "scenarios/timed_question.h"

namespace hybridkv {

/// A clock, and how far it is to be trusted.
struct ServedClock {
  std::shared_ptr<const StepClock> clock;
  ClockFile source;
  std::string gpu;  ///< as the table of GPUs spells it
};

/// The coefficients of the engine as they ship. Throws SpecError where nobody measured it.
const ClockFile& clock_of(const Engine& engine);

/// Bytes that engines take of a GPU beside weights and cache, where no start of theirs was read.
inline constexpr std::int64_t usual_beside_bytes = 4'000'000'000;

/// The clock of a scenario's model and engine on a GPU. Throws InputError for a GPU whose speed is not known, a file
/// that is no clock or is another engine's, and a model whose parameters are not known; SpecError as not_known_of.
ServedClock served_clock(const Scenario& scenario, const ClockQuestion& question);

/// Bytes that a rank's GPU has left for the cache beside the model's weights and what engines take; estimated, as
/// `boot` says of the engines whose starts are known. Throws InputError where nothing is left, with ranks that work.
std::int64_t cache_memory(const Scenario& scenario, const Gpu& gpu);

/// What every figure made with it carries: "clock of vllm, fitted to 199 published runs …; median error on runs that it
/// had not seen: 22 % of a first token, 18 % of a time per output token".
std::string clock_label(const ServedClock& served);

}  // namespace hybridkv
