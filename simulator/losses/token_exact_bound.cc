#include "simulator/losses/token_exact_bound.h"

#include <algorithm>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

std::int64_t TokenExactBound::match(std::span<const TokenRun> prompt) {
  if (prompt.empty()) return 0;
  const std::int64_t shared = seen_.longest(prompt);
  seen_.remember(prompt, prompt.back().end_token);
  return std::min(shared, prompt.back().end_token - 1);
}

void TokenExactBound::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    if (refused_for_length(request.input_length, max_model_len_)) continue;
    prompt_tokens_ += request.input_length;
    const std::int64_t hit = match(batch.prompt(request));
    hit_tokens_ += hit;
    longest_hit_ = std::max(longest_hit_, hit);
  }
}

}  // namespace hybridkv
