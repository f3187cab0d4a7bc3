#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clock/step_shape.h"

namespace hybridkv {

/// A step that somebody measured.
struct MeasuredShape {
  StepShape shape;
  double seconds = 0;         ///< of the slowest rank, the median of its runs, > 0
  double spread_percent = 0;  ///< of the first rank's runs; 0: not said
};

/// The cases of a benchmark of forward passes, as JSON: {"cases": [{"name", "requests": [{"query_len", "kv_len",
/// "num_draft_tokens", "chunked", "count"}]}]}; kv_len counts the query too, chunked says that the request computed
/// what lies before. Source: vLLM 0.33.0, `vllm bench forward --shapes`.
std::string shapes_text(const std::vector<StepShape>& shapes);

/// Its result: a list of {"case", "requests", "median_us", "ranks"}. `name` is what messages call the file. Keys that
/// nobody needs are passed over. Throws InputError with the number of the case and its key.
std::vector<MeasuredShape> parse_forward(std::string_view text, const std::string& name);

}  // namespace hybridkv
