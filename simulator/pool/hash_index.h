#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/contract.h"
#include "simulator/pool/block_id.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Finds the block that carries a key; several blocks may carry the same one, then the oldest still present.
///
/// An open-addressing table of 8-byte buckets (32 bits of the key, oldest block), at most half full, so a miss
/// touches one cache line; the blocks of one key form a ring in the order of insertion. All operations are O(1)
/// however many blocks share a key. Memory grows with the blocks that there is room for and with those that carry keys.
class HashIndex {
 public:
  explicit HashIndex(std::int64_t num_blocks)
      : nodes_(static_cast<std::size_t>(num_blocks)), buckets_(least_buckets), mask_(buckets_.size() - 1) {}

  /// Number of blocks that carry a key.
  std::int64_t size() const { return size_; }
  /// Key of a block, 0 = none.
  PrefixKey key(BlockId block) const { return nodes_[block].key; }

  /// Oldest block with that key, or the null block. Pre: key != 0.
  BlockId find(PrefixKey wanted) const {
    contract([&] { return wanted != 0; }, "a key that is looked up is not 0");
    for (std::size_t at = home(tag_of(wanted));; at = (at + 1) & mask_) {
      const Bucket bucket = buckets_[at];
      if (bucket.oldest == null_block_id) return null_block_id;
      if (bucket.tag == tag_of(wanted) && nodes_[bucket.oldest].key == wanted) return bucket.oldest;
    }
  }

  /// Pre: the block carries no key, key != 0.
  void insert(PrefixKey wanted, BlockId block) {
    contract([&] { return wanted != 0 && block != null_block_id && block < nodes_.size() && key(block) == 0; },
             "a block without a key is given one");
    Node& node = nodes_[block];
    node = {wanted, block, block};
    if (++size_ > most_keys_) [[unlikely]] grow();
    std::size_t at = home(tag_of(wanted));
    for (; buckets_[at].oldest != null_block_id; at = (at + 1) & mask_) {
      const BlockId oldest = buckets_[at].oldest;
      if (buckets_[at].tag != tag_of(wanted) || nodes_[oldest].key != wanted) continue;
      node.older = nodes_[oldest].older;  // the ring's last
      node.newer = oldest;
      nodes_[node.older].newer = block;
      nodes_[oldest].older = block;
      return;
    }
    buckets_[at] = {tag_of(wanted), block};
  }

  /// Pre: the block carries a key.
  void erase(BlockId block) {
    contract([&] { return block < nodes_.size() && key(block) != 0; }, "a block loses a key that it has");
    Node& node = nodes_[block];
    const std::uint32_t tag = tag_of(node.key);
    std::size_t at = home(tag);
    while (buckets_[at].oldest != null_block_id && buckets_[at].oldest != block) at = (at + 1) & mask_;
    if (node.newer != block) {
      if (buckets_[at].oldest == block) buckets_[at].oldest = node.newer;
      nodes_[node.newer].older = node.older;
      nodes_[node.older].newer = node.newer;
    } else {
      close_gap(at);
    }
    node.key = 0;
    --size_;
  }

  /// Sets room aside for so many blocks, which it does not have yet.
  void reserve(std::int64_t blocks) { nodes_.reserve(static_cast<std::size_t>(blocks)); }
  /// Room for one more block.
  void add_block() { nodes_.push_back({}); }

  /// Blocks that carry this key, oldest first, for checks and tests.
  std::vector<BlockId> all(PrefixKey wanted) const {
    std::vector<BlockId> blocks;
    const BlockId oldest = find(wanted);
    if (oldest == null_block_id) return blocks;
    BlockId at = oldest;
    do {
      blocks.push_back(at);
      at = nodes_[at].newer;
    } while (at != oldest && blocks.size() <= nodes_.size());
    return blocks;
  }

 private:
  friend struct ArenaPeek;

  struct Node {
    PrefixKey key = 0;
    BlockId older = 0, newer = 0;  // ring of the blocks of one key; the oldest one's `older` is the newest
  };
  struct Bucket {
    std::uint32_t tag = 0;
    BlockId oldest = null_block_id;  // null_block_id = empty bucket
  };

  static constexpr std::size_t least_buckets = 64;

  [[gnu::noinline]] void grow() {
    std::vector<Bucket> old(2 * buckets_.size());
    old.swap(buckets_);
    mask_ = buckets_.size() - 1;
    most_keys_ = static_cast<std::int64_t>(buckets_.size() / 2);
    for (const Bucket bucket : old) {
      if (bucket.oldest == null_block_id) continue;
      std::size_t at = home(bucket.tag);
      while (buckets_[at].oldest != null_block_id) at = (at + 1) & mask_;
      buckets_[at] = bucket;
    }
  }

  static std::uint32_t tag_of(PrefixKey key) { return static_cast<std::uint32_t>(key); }
  std::size_t home(std::uint32_t tag) const { return tag & mask_; }

  // Empties a bucket and moves back every later bucket of the same stretch that may stand nearer its home.
  void close_gap(std::size_t gap) {
    for (std::size_t at = (gap + 1) & mask_; buckets_[at].oldest != null_block_id; at = (at + 1) & mask_) {
      const std::size_t distance_from_home = (at - home(buckets_[at].tag)) & mask_;
      if (distance_from_home < ((at - gap) & mask_)) continue;
      buckets_[gap] = buckets_[at];
      gap = at;
    }
    buckets_[gap] = {};
  }

  std::vector<Node> nodes_;     // (blocks)
  std::vector<Bucket> buckets_; // (power of two, at least twice the blocks that carry a key)
  std::size_t mask_;
  std::int64_t most_keys_ = least_buckets / 2; // without more buckets
  std::int64_t size_ = 0;
};

}  // namespace hybridkv
