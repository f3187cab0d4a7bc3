#pragma once

#include <string>

#include "ask/clock/load_curve.h"
#include "report/format.h"

namespace hybridkv {

/// `simulate --rate RATES`: latency against load with and without prefix caching, and the most load within limits.
std::string render_load(const LoadCurve& curve, Format format, const Style& style = {});

}  // namespace hybridkv
