#include "simulator/chain_hash.h"

namespace hybridkv {

void prefix_keys(std::span<const TokenRun> runs, std::int64_t unit, std::vector<PrefixKey>& keys) {
  keys.clear();
  if (runs.empty()) return;
  const std::int64_t count = runs.back().end_token / unit;
  keys.resize(static_cast<std::size_t>(count));
  const TokenRun* run = runs.data();
  std::int64_t tokens = 0;
  for (PrefixKey& key : keys) {
    tokens += unit;
    while (run->end_token < tokens) ++run;
    key = prefix_key(run->chain, tokens);
  }
}

}  // namespace hybridkv
