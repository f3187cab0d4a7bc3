#pragma once

#include <string>

#include "ask/bench.h"
#include "report/format.h"

namespace hybridkv {

/// `bench --format FORMAT`: one row per batch, layout and backend, and the share that it reaches of what the machine
/// can do, which people and JSON get by itself, too. A share above 1 is said to be a fault of the measurement.
std::string render_bench(const BenchAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
