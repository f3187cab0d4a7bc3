#pragma once

#include <string>

#include "ask/start/doctor.h"
#include "report/format.h"

namespace hybridkv {

/// `doctor --format FORMAT`: the result, figures beside what the rules give, what was found, what it costs, what
/// contradicts it, and commands to try; csv: the figures alone.
std::string render_doctor(const DoctorAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
