#pragma once

#include <string>
#include <vector>

#include "ask/bench.h"
#include "report/format.h"

namespace hybridkv {

/// `bench --format FORMAT`: one row per batch, layout and backend, and what the machine can do beside it.
std::string render_bench(const std::vector<BenchAnswer>& rows, Format format, const Style& style = {});

}  // namespace hybridkv
