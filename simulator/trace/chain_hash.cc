#include "simulator/trace/chain_hash.h"

#include <algorithm>

namespace hybridkv {

void prefix_keys(std::span<const TokenRun> runs, std::int64_t unit, std::vector<PrefixKey>& keys,
                 std::int64_t lookahead) {
  keys.clear();
  if (runs.empty()) return;
  const std::int64_t count = std::max<std::int64_t>(0, runs.back().end_token - lookahead) / unit;
  keys.resize(static_cast<std::size_t>(count));
  const TokenRun* run = runs.data();
  std::int64_t tokens = 0;
  for (PrefixKey& key : keys) {
    tokens += unit;
    while (run->end_token < tokens + lookahead) ++run;
    key = prefix_key(run->chain, tokens);
  }
}

}  // namespace hybridkv
