#pragma once

#include <cstddef>

#include "simulator/pool/block_id.h"
#include "simulator/pool/block_records.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Neighbours of a block among several of one key, the null block for the only one; the oldest one's `older` is the
/// newest.
struct KeyRing {
  BlockId older = null_block_id, newer = null_block_id;
  bool operator==(const KeyRing&) const = default;
};

/// Key and ring of every block, beside each other: the fastest, where nearly all blocks are in use.
class FlatKeys {
 public:
  std::size_t size() const { return nodes_.size(); }
  PrefixKey key(BlockId block) const { return nodes_[block].key; }
  PrefixKey& edit_key(BlockId block) { return nodes_.edit(block).key; }
  const KeyRing& ring(BlockId block) const { return nodes_[block].ring; }
  KeyRing& edit_ring(BlockId block) { return nodes_.edit(block).ring; }
  /// The block is in no ring any more.
  void leave(BlockId block) { nodes_.edit(block).ring = {}; }
  void add() { nodes_.add(); }
  void reserve(std::size_t blocks) { nodes_.reserve(blocks); }

 private:
  struct Node {
    PrefixKey key = 0;
    KeyRing ring;
  };
  FlatRecords<Node> nodes_;
};

/// The same in rows, of which those without a key or a ring take no memory. Few blocks have a ring.
class RowKeys {
 public:
  std::size_t size() const { return keys_.size(); }
  PrefixKey key(BlockId block) const { return keys_[block]; }
  PrefixKey& edit_key(BlockId block) { return keys_.edit(block); }
  const KeyRing& ring(BlockId block) const { return rings_[block]; }
  KeyRing& edit_ring(BlockId block) { return rings_.edit(block); }
  void leave(BlockId block) {
    rings_.edit(block) = {};
    rings_.close_if_empty(block);
  }
  void add() { extend(keys_.size() + 1); }
  void reserve(std::size_t /*blocks*/) {}
  /// Room for all blocks below `end`.
  void extend(std::size_t end) {
    keys_.extend(end);
    rings_.extend(end);
  }
  /// These blocks, which carry no key, take no memory until one has a key again.
  void clear(std::size_t first, std::size_t count) { keys_.clear(first, count); }

 private:
  RowRecords<PrefixKey> keys_;
  RowRecords<KeyRing> rings_;
};

}  // namespace hybridkv
