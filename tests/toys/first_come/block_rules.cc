#include "tests/toys/first_come/block_rules.h"

#include <map>
#include <unordered_map>

#include "simulator/blocks/cache_parts.h"

namespace hybridkv::testing {

constinit const FirstComeRules first_come_rules;

namespace {

class FirstCome final : public VictimChooser {
 public:
  explicit FirstCome(const CacheParts& cache) : cache_(cache), came_(cache.pools.size()) {}

  BlockId choose(std::size_t arena) override {
    const BlockArena& pool = cache_.pools[arena];
    for (const auto& [turn, block] : came_[arena].blocks)
      if (pool.is_free(block) && pool.is_findable(block)) return block;
    return null_block_id;
  }
  void freed(std::size_t arena, BlockId block) override {
    if (!came_[arena].turns.contains(block)) join(arena, block, ++turn_);
  }
  void dropped(std::size_t arena, BlockId block) override { leave(arena, block); }
  void moved(std::size_t arena, BlockId from, BlockId to) override {
    if (const std::int64_t turn = leave(arena, from); turn > 0) join(arena, to, turn);
  }

 private:
  /// Blocks of one arena that were given back findable, by the turn in which they first were.
  struct Came {
    std::map<std::int64_t, BlockId> blocks;
    std::unordered_map<BlockId, std::int64_t> turns;
  };

  void join(std::size_t arena, BlockId block, std::int64_t turn) {
    leave(arena, block);
    came_[arena].blocks[turn] = block;
    came_[arena].turns[block] = turn;
  }
  /// Its turn; 0: it had none.
  std::int64_t leave(std::size_t arena, BlockId block) {
    const auto found = came_[arena].turns.find(block);
    if (found == came_[arena].turns.end()) return 0;
    const std::int64_t turn = found->second;
    came_[arena].blocks.erase(turn);
    came_[arena].turns.erase(found);
    return turn;
  }

  const CacheParts& cache_;
  std::vector<Came> came_;
  std::int64_t turn_ = 0;
};

}  // namespace

std::unique_ptr<VictimChooser> FirstComeRules::victims(const CacheParts& cache) const {
  return std::make_unique<FirstCome>(cache);
}

}  // namespace hybridkv::testing
