#pragma once

#include <cstdint>
#include <span>

#include "simulator/trace/trace.h"
#include "simulator/tree/tree_actions.h"

namespace hybridkv {

/// Requests of a trace one at a time through a dual pool with a radix tree, in the order of actions of SGLang 0.5.23.
/// Deterministic. Memory grows with the pool, not with the trace.
class TreeReplay : public TreeActions {
 public:
  /// Throws SpecError for unusable settings.
  explicit TreeReplay(const TreeSettings& settings) : TreeActions(settings) {}

  /// Runs one request to its end. `content` is its prompt; where it goes on beyond the prompt's length, that is what
  /// the request generates, else it generates content of its own. The record is valid until the next call.
  const TreeRecord& run(const TraceRequest& request, std::span<const TokenRun> content);

  /// The request under way, or the last one: it then holds nothing.
  const TreeRequest& request() const { return request_; }

 private:
  friend struct TreePeek;

  bool prefill();
  bool decode();
  // Many tokens at once where each has a page of its own.
  bool decode_to(std::int64_t tokens);

  TreeRequest request_;
};

}  // namespace hybridkv
