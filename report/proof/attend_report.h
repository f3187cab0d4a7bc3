#pragma once

#include <string>

#include "ask/attend.h"
#include "report/format.h"

namespace hybridkv {

/// `attend --format FORMAT`: what was computed and one row per bias with its shape and bytes.
std::string render_attend(const AttendAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
