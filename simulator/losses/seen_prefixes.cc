#include "simulator/losses/seen_prefixes.h"

#include <algorithm>

namespace hybridkv {

namespace {

std::uint64_t stored(std::uint64_t chain) { return chain == 0 ? 1 : chain; }

}  // namespace

std::size_t SeenPrefixes::place_of(std::uint64_t chain) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = chain & mask;
  while (table_[at].chain != 0 && table_[at].chain != chain) at = (at + 1) & mask;
  return at;
}

void SeenPrefixes::grow() {
  std::vector<Entry> old(2 * table_.size());
  old.swap(table_);
  for (const Entry& kept : old)
    if (kept.chain != 0) table_[place_of(kept.chain)] = kept;
}

std::int64_t SeenPrefixes::longest(std::span<const TokenRun> prompt) const {
  std::int64_t shared = 0;
  for (const TokenRun& run : prompt) {
    const Entry& seen = table_[place_of(stored(run.chain))];
    if (seen.chain == 0) break;
    shared = std::min(seen.end_token, run.end_token);
    if (shared != run.end_token) break;
  }
  return shared;
}

void SeenPrefixes::remember(std::span<const TokenRun> prompt, std::int64_t tokens) {
  std::int64_t start = 0;
  for (const TokenRun& run : prompt) {
    if (start >= tokens) break;
    Entry& seen = table_[place_of(stored(run.chain))];
    if (seen.chain == 0) {
      seen.chain = stored(run.chain);
      ++filled_;
    }
    seen.end_token = std::max(seen.end_token, std::min(run.end_token, tokens));
    start = run.end_token;
    if (2 * filled_ > table_.size()) grow();
  }
}

}  // namespace hybridkv
