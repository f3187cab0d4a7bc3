#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// What a router remembers of the prompts that it sent to one replica: the least recently used of so many blocks go.
/// Memory grows with the blocks, up to that many.
class SentPrompts {
 public:
  explicit SentPrompts(std::int64_t most_blocks) : most_(most_blocks) {}
  SentPrompts(SentPrompts&&) = default;
  SentPrompts& operator=(SentPrompts&&) = default;

  /// Blocks from the start of a prompt that are remembered; keys by block.
  std::int64_t match(std::span<const PrefixKey> keys) const;
  /// The prompt was sent there: its blocks are the most recently used.
  void add(std::span<const PrefixKey> keys);
  std::int64_t size() const { return std::ssize(order_); }

 private:
  std::int64_t most_;
  std::list<PrefixKey> order_;  // the least recently used first
  std::unordered_map<PrefixKey, std::list<PrefixKey>::iterator> places_;
};

}  // namespace hybridkv
