#include "simulator/fleet/session_names.h"

#include <algorithm>

namespace hybridkv {

std::uint64_t SessionNames::of(const TraceRequest& request, std::span<const TokenRun> prompt) {
  if (request.chat_id < 0) {
    const std::int64_t tokens = std::min(tokens_, request.input_length);
    const auto run = std::find_if(prompt.begin(), prompt.end(),
                                  [=](const TokenRun& one) { return tokens <= one.end_token; });
    return prefix_key(run->chain, tokens);
  }
  const auto parent = first_.find(request.parent_chat_id);
  const std::int64_t first = parent != first_.end() ? parent->second : request.chat_id;
  return mix64(1, static_cast<std::uint64_t>(first_.try_emplace(request.chat_id, first).first->second));
}

}  // namespace hybridkv
