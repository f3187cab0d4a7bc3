#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// Which conversation a request belongs to: that of the request which it continues, or that which the trace names, or
/// what its prompt begins with where the trace names none. Memory grows with the requests that are named.
class SessionNames {
 public:
  /// `tokens`: prompts that begin with the same so many are one conversation where none is named, >= 1.
  explicit SessionNames(std::int64_t tokens) : tokens_(tokens) {}

  /// A hash of the conversation. To be asked once of each request, in the order of the trace.
  std::uint64_t of(const TraceRequest& request, std::span<const TokenRun> prompt);

 private:
  std::int64_t tokens_;
  std::unordered_map<std::int64_t, std::int64_t> first_;  // by chat_id: that of the first request of its conversation
};

}  // namespace hybridkv
