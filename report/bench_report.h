#pragma once

#include <string>
#include <vector>

#include "measure/attention_bench.h"
#include "report/format.h"

namespace hybridkv {

/// One row: what was asked and what was measured.
struct BenchedAttention {
  AttentionBenchSpec spec;
  AttentionBenchResult result;
};

/// `bench --format FORMAT`: one row per batch, layout and backend, and what the machine can do beside it.
std::string render_bench(const std::vector<BenchedAttention>& rows, Format format, const Style& style = {});

}  // namespace hybridkv
