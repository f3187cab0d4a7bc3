#include "simulator/token_exact_bound.h"

#include <algorithm>

#include "simulator/cache_geometry.h"

namespace hybridkv {

TokenExactBound::Entry& TokenExactBound::entry(std::uint64_t chain) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = chain & mask;
  while (table_[at].chain != 0 && table_[at].chain != chain) at = (at + 1) & mask;
  return table_[at];
}

void TokenExactBound::grow() {
  std::vector<Entry> old(2 * table_.size());
  old.swap(table_);
  for (const Entry& kept : old)
    if (kept.chain != 0) entry(kept.chain) = kept;
}

std::int64_t TokenExactBound::match(std::span<const TokenRun> prompt) {
  std::int64_t shared = 0;
  bool same_so_far = true;
  for (const TokenRun& run : prompt) {
    const std::uint64_t chain = run.chain == 0 ? 1 : run.chain;
    Entry& seen = entry(chain);
    if (seen.chain == 0) {
      same_so_far = false;
      seen.chain = chain;
      ++filled_;
    } else if (same_so_far) {
      shared = std::min(seen.end_token, run.end_token);
      same_so_far = shared == run.end_token;
    }
    seen.end_token = std::max(seen.end_token, run.end_token);
    if (2 * filled_ > table_.size()) grow();
  }
  return prompt.empty() ? 0 : std::min(shared, prompt.back().end_token - 1);
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
