#include "ask/replay/longest_repeats.h"

#include <memory>
#include <variant>

#include "simulator/losses/token_exact_bound.h"

namespace hybridkv {

std::optional<std::int64_t> LongestRepeats::of(const IndexStats& stats, std::optional<std::int64_t> max_model_len) {
  const auto* const blocks = std::get_if<SimulationStats>(&stats);
  if (!blocks || blocks->hit_tokens > 0 || blocks->prompt_tokens == 0 || !blocks->geometry.caches_prefixes())
    return std::nullopt;
  const auto known = longest_.find(max_model_len);
  if (known != longest_.end()) return known->second;
  TokenExactBound exact(max_model_len);
  const std::unique_ptr<TraceSource> source = open_trace(trace_);
  for (TraceBatch batch; source->next(batch);) exact.consume(batch);
  return longest_.emplace(max_model_len, exact.longest_hit()).first->second;
}

}  // namespace hybridkv
