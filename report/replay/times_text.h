#pragma once

#include <string>

#include "ask/clock/timed_replay.h"

namespace hybridkv {

/// "a first token within 1.00 s and each further one within 40.0 ms"; empty where there are none.
std::string limits_text(const ServiceLimits& limits);

/// "attention decode".
std::string part_text(StepPart part);

}  // namespace hybridkv
