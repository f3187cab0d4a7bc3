#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

namespace hybridkv::testing {

/// The block pool of vLLM 0.33 once more, slow: prefixes are compared token by token, the queue is a list, a block may
/// have several keys.
struct PoolRef033 {
  using Tokens = std::vector<std::uint64_t>;

  struct Key {
    int group = 0;
    std::int64_t length = 0;  ///< tokens of the prefix
    Tokens prefix;            ///< and those behind it that the key covers too
    auto operator<=>(const Key&) const = default;
  };
  struct Block {
    int references = 0;
    std::vector<Key> keys;  ///< the first is the primary one
  };

  explicit PoolRef033(std::int64_t num_blocks) : blocks(static_cast<std::size_t>(num_blocks)) {
    for (int i = 1; i < num_blocks; ++i) queue.push_back(i);
  }

  /// Blocks given back in one call: those without a key to the front, in that order.
  void give_back(const std::vector<int>& ids) {
    std::vector<int> bare;
    for (const int id : ids) {
      if (id == 0 || --blocks[id].references > 0) continue;
      if (blocks[id].keys.empty())
        bare.push_back(id);
      else
        queue.push_back(id);
    }
    queue.insert(queue.begin(), bare.begin(), bare.end());
  }
  int take() {
    const int id = queue.front();
    queue.pop_front();
    if (!blocks[id].keys.empty()) ++evictions;
    for (const Key& key : blocks[id].keys) forget(id, key);
    blocks[id] = {.references = 1, .keys = {}};
    return id;
  }
  void touch(int id) {
    if (id != 0 && blocks[id].references++ == 0) queue.remove(id);
  }
  void enter(int id, const Key& key) {
    blocks[id].keys.push_back(key);
    index[key].push_back(id);
  }
  /// Takes a key out of the index; the block's own list is the caller's.
  void forget(int id, const Key& key) {
    auto at = index.find(key);
    at->second.remove(id);
    if (at->second.empty()) index.erase(at);
  }
  /// The oldest block with that key, or 0.
  int find(const Key& key) const {
    const auto at = index.find(key);
    return at == index.end() ? 0 : at->second.front();
  }

  std::vector<Block> blocks;
  std::list<int> queue;
  std::map<Key, std::list<int>> index;
  std::int64_t evictions = 0;
};

}  // namespace hybridkv::testing
