#pragma once

#include <cstdint>

namespace hybridkv {

/// The rows of one sequence by which its last tokens are taken back, and what a server grants. They are for drafts that
/// were rejected alone: no prompt goes on from them.
/// Source: llama.cpp b11312 llama_memory_seq_rm, run.
struct DraftRows {
  std::int64_t rows = 0;       ///< beside the running one
  std::int64_t last_step = 0;  ///< tokens that were computed last
  bool is_back = false;        ///< some were taken back since

  /// A step of so many tokens was computed.
  void step(std::int64_t tokens) { last_step = tokens, is_back = false; }
  /// The last tokens are taken back, once a step; false: refused, and nothing changes.
  bool take_back(std::int64_t tokens) {
    if (is_back || tokens < 1 || tokens > rows) return false;
    return is_back = true;
  }
  /// Is the state behind what stays the right one? What is granted may reach behind the last step, where rows hold
  /// other tokens.
  bool is_right(std::int64_t tokens) const { return tokens < last_step; }
};

}  // namespace hybridkv
