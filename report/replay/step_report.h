#pragma once

#include <string>

#include "ask/clock/step_answer.h"
#include "report/format.h"

namespace hybridkv {

/// Where a step spends its time, and how each part comes about.
std::string render_step(const StepAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
