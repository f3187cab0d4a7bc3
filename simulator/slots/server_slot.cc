#include "simulator/slots/server_slot.h"

#include <algorithm>

namespace hybridkv {

std::int64_t common_tokens(std::span<const TokenRun> a, std::span<const TokenRun> b) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].chain == b[i].chain; ++i) {
    tokens = std::min(a[i].end_token, b[i].end_token);
    if (a[i].end_token != b[i].end_token) break;
  }
  return tokens;
}

std::uint64_t chain_at(std::span<const TokenRun> content, std::int64_t tokens) {
  return std::lower_bound(content.begin(), content.end(), tokens,
                          [](const TokenRun& run, std::int64_t length) { return run.end_token < length; })
      ->chain;
}

}  // namespace hybridkv
