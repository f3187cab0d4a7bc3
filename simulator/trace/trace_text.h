#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/trace/chain_hash.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// Writes requests as a trace file of the form `qwen` (trace_file.h): one id for 16 tokens, numbered in the order in
/// which they first come. Read back it gives the same requests, whose prompts agree up to the same multiple of 16
/// tokens: what engines with blocks of whole sixteens find is the same. What a request waits for has no place in it.
/// Memory grows with the ids.
class TraceText {
 public:
  /// Appends a line for each request of the batch.
  void append(const TraceBatch& batch, std::string& lines);

 private:
  void append_ids(const TraceBatch& batch, const TraceRequest& request, std::string& lines);

  std::unordered_map<PrefixKey, std::int64_t> ids_;
  std::vector<PrefixKey> keys_;  // of one prompt
};

}  // namespace hybridkv
