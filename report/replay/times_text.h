#pragma once

#include <string>

#include "ask/clock/timed_replay.h"

namespace hybridkv {

/// "a first token within 1.00 s and each further one within 40.0 ms"; empty where there are none.
std::string limits_text(const ServiceLimits& limits);

/// "90.0 ms ± 22 %": a time with the median error of its clock.
std::string with_error(double seconds, double percent);

/// "attention decode".
std::string part_text(StepPart part);

}  // namespace hybridkv
