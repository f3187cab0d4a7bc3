#include "simulator/pool/hash_index.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <map>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using hybridkv::testing::Dice;

TEST_CASE("edge: a look-up takes the oldest of several blocks with one key") {
  HashIndex index(8);
  for (const BlockId block : {5, 2, 7}) index.insert(99, block);
  CHECK(index.all(99) == std::vector<BlockId>{5, 2, 7});
  index.erase(5);
  CHECK(index.find(99) == 2);
  index.erase(7);
  CHECK(index.all(99) == std::vector<BlockId>{2});
  index.erase(2);
  CHECK(index.find(99) == null_block_id);
  CHECK(index.size() == 0);
}

TEST_CASE("law: the index equals a map of lists, also where all keys fall into few slots") {
  for (const std::uint64_t crowd : {std::uint64_t{3}, std::uint64_t{1} << 20}) {
    Dice dice(crowd);
    HashIndex index(64);
    std::map<PrefixKey, std::list<BlockId>> expected;
    std::map<BlockId, PrefixKey> keys;
    for (int i = 0; i < 20000; ++i) {
      const auto block = static_cast<BlockId>(dice.roll(1, 63));
      if (const auto held = keys.find(block); held != keys.end()) {
        index.erase(block);
        expected[held->second].remove(block);
        keys.erase(held);
      } else {
        // The low bits decide the slot, bit 40 only the key.
        const PrefixKey key = 1 + static_cast<PrefixKey>(dice.roll(0, 20)) % crowd +
                              (static_cast<PrefixKey>(dice.roll(0, 3)) << 40);
        index.insert(key, block);
        expected[key].push_back(block);
        keys[block] = key;
      }
      REQUIRE(index.size() == std::ssize(keys));
      for (const auto& [key, blocks] : expected)
        REQUIRE(index.all(key) == std::vector<BlockId>(blocks.begin(), blocks.end()));
    }
  }
}

TEST_CASE("edge: an index that grows block by block keeps what it holds") {
  HashIndex index(2);
  index.insert(7, 1);
  for (BlockId block = 2; block < 300; ++block) {
    index.add_block();
    index.insert(7 + block % 50, block);
  }
  CHECK(index.size() == 299);
  for (BlockId block = 1; block < 300; ++block) {
    const auto all = index.all(index.key(block));
    CHECK(std::count(all.begin(), all.end(), block) == 1);
  }
}
