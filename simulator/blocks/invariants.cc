#include "simulator/blocks/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

class InvariantChecker {
 public:
  explicit InvariantChecker(const Scheduler& scheduler)
      : scheduler_(scheduler),
        geometry_(scheduler.cache().geometry()),
        positions_(scheduler.cache().steps().positions()),
        pools_(scheduler.cache().pools()) {
    for (const BlockArena& pool : pools_) holds_.emplace_back(static_cast<std::size_t>(pool.num_blocks()));
  }

  std::vector<std::string> run() {
    for (const auto& request : scheduler_.running()) check_request(*request);
    for (const auto& request : CachePeek::waiting(scheduler_))
      require(block_count(request->blocks) == 0, "waiting request {} holds blocks", request->record.index);
    for (const BlockCopy& copy : CachePeek::copied(scheduler_))
      hold({static_cast<std::size_t>(copy.arena), copy.let_go}, -1);
    for (std::size_t arena = 0; arena < pools_.size(); ++arena) {
      if (pools_.size() > 1) where_ = fmt::format("arena {}: ", arena);
      check_references(pools_[arena], holds_[arena]);
      check_queue(pools_[arena]);
      check_index(pools_[arena]);
      check_counters(pools_[arena]);
      if (const KeptPrefixes* kept = scheduler_.cache().kept()) check_kept(*kept, arena);
    }
    where_.clear();
    if (const PageLedger* ledger = scheduler_.cache().ledger()) check_ledger(*ledger);
    return std::move(violations_);
  }

 private:
  template <class... Values>
  void require(bool sound, fmt::format_string<Values...> what, Values&&... values) {
    if (!sound) violations_.push_back(where_ + fmt::format(what, std::forward<Values>(values)...));
  }

  static std::size_t block_count(const RequestBlocks& blocks) {
    std::size_t count = 0;
    for (const auto& table : blocks.held) count += table.size();
    for (const auto& table : blocks.attention) count += table.size();
    for (const StateTable& table : blocks.states) count += table.live.size() + table.spare.size();
    return count;
  }

  /// A block id means something only inside its arena.
  using Place = std::pair<std::size_t, BlockId>;

  void hold(Place at, std::int64_t request) {
    if (!is_block(at)) {
      require(false, "request {} holds block {}", request, at.second);
      return;
    }
    ++holds_[at.first][at.second];
  }

  bool is_block(Place at) const {
    return at.second != null_block_id && at.first < holds_.size() && at.second < holds_[at.first].size();
  }
  Place attention_place(std::size_t group, BlockId block) const {
    return {static_cast<std::size_t>(geometry_.attention_arena(static_cast<std::int64_t>(group))), block};
  }
  Place state_place(std::size_t group, BlockId block) const {
    return {static_cast<std::size_t>(geometry_.state_arena(static_cast<std::int64_t>(group))), block};
  }
  /// None of a block that was never taken, which check_references reports.
  PrefixKey key(Place at) const {
    const BlockArena& pool = pools_[at.first];
    return at.second < static_cast<std::size_t>(pool.num_known()) ? pool.key(at.second) : PrefixKey{};
  }

  void check_request(const ActiveRequest& request) {
    const std::int64_t id = request.record.index;
    std::set<Place> own;
    const auto take = [&](Place at) {
      require(own.insert(at).second, "request {} holds block {} twice", id, at.second);
      hold(at, id);
    };
    for (std::size_t group = 0; group < request.blocks.attention.size(); ++group) {
      const auto& table = request.blocks.attention[group];
      const std::int64_t passed = passed_blocks(group, request.computed_tokens);
      for (std::int64_t i = 0; i < std::ssize(table); ++i)
        if (i >= passed || table[static_cast<std::size_t>(i)] != null_block_id)
          take(attention_place(group, table[static_cast<std::size_t>(i)]));
    }
    for (std::size_t group = 0; group < request.blocks.states.size(); ++group) {
      for (const StateEntry& entry : request.blocks.states[group].live) take(state_place(group, entry.block));
      for (const BlockId block : request.blocks.states[group].spare) take(state_place(group, block));
    }
    const std::span<const HeldGroup> held = scheduler_.cache().held().groups();
    for (std::size_t group = 0; group < request.blocks.held.size(); ++group)
      for (const BlockId block : request.blocks.held[group])
        take({static_cast<std::size_t>(held[group].arena), block});
    const std::int64_t tokens = request.computed_tokens + request.scheduled_tokens;
    check_attention(request, tokens);
    check_states(request, tokens);
  }

  /// Blocks of an attention group that may have gone back: those behind what the next token sees.
  std::int64_t passed_blocks(std::size_t group, std::int64_t computed) const {
    if (geometry_.attention_masks.empty()) return 0;
    return geometry_.attention_masks[group].first_visible(computed) /
           geometry_.attention_block(static_cast<std::int64_t>(group));
  }

  void check_attention(const ActiveRequest& request, std::int64_t tokens) {
    const std::int64_t id = request.record.index;
    require(std::ssize(request.blocks.attention) == geometry_.attention_groups,
            "request {} has {} attention tables", id, request.blocks.attention.size());
    for (std::size_t group = 0; group < request.blocks.attention.size(); ++group) {
      const auto& table = request.blocks.attention[group];
      const std::int64_t block = geometry_.attention_block(static_cast<std::int64_t>(group));
      const std::int64_t units = block / geometry_.match_unit();
      // In 0.33 a drafter's tokens have room too, and rows of theirs that were not filled are kept.
      const std::int64_t blocks = ceil_div(tokens, block);
      require(positions_ ? std::ssize(table) >= blocks : std::ssize(table) == blocks,
              "request {} has {} attention blocks for {} tokens", id, table.size(), tokens);
      if (!geometry_.caches_prefixes()) continue;
      const auto published = std::min<std::int64_t>(published_tokens(request, tokens) / block, std::ssize(table));
      for (std::int64_t i = 0; i < published; ++i) {
        const Place at = attention_place(group, table[static_cast<std::size_t>(i)]);
        if (!is_block(at)) continue;
        const bool kept = !positions_ || !geometry_.is_windowed(static_cast<std::int64_t>(group)) || key(at) != 0;
        if (!kept) continue;
        const PrefixKey wanted = CachePeek::attention(scheduler_).group_keys()(
            request.keys[static_cast<std::size_t>((i + 1) * units - 1)], group);
        require(key(at) == wanted,
                "attention block {} of request {} is not published under its prefix", i, id);
      }
    }
  }

  // Tokens whose full attention blocks have keys: in 0.33 those of whole segments, as far as keys look ahead.
  std::int64_t published_tokens(const ActiveRequest& request, std::int64_t tokens) const {
    if (!positions_) return tokens;
    const std::int64_t lag = std::max<std::int64_t>(0, geometry_.rules.lookahead_tokens - 1);
    const std::int64_t keyed = std::ssize(request.keys) * geometry_.match_unit();
    const std::int64_t known = std::max<std::int64_t>(0, std::min({tokens, request.known_tokens, keyed}) - lag);
    return known / positions_->hit_step() * positions_->hit_step();
  }

  void check_states(const ActiveRequest& request, std::int64_t tokens) {
    const std::int64_t id = request.record.index;
    const auto& tables = request.blocks.states;
    require(std::ssize(tables) == geometry_.state_groups, "request {} has {} state tables", id, tables.size());
    const std::int64_t running = geometry_.mode == CacheMode::none ? 0 : ceil_div(tokens, geometry_.state_block()) - 1;
    for (std::size_t group = 0; group < tables.size(); ++group) {
      const StateTable& table = tables[group];
      require(positions_ ? table.running_index() >= running : table.running_index() == running,
              "request {} lacks its running state in group {}", id, group);
      require(std::ssize(table.spare) == geometry_.draft_states(), "request {} holds {} speculative states", id,
              table.spare.size());
      const std::size_t most = geometry_.mode == CacheMode::none ? 1 : positions_ ? 3 : 2;
      require(geometry_.mode == CacheMode::all || table.live.size() <= most,
              "request {} holds {} states in group {}", id, table.live.size(), group);
      require(table.live.size() == tables.front().live.size(), "states of request {} differ between groups", id);
      for (std::size_t i = 0; i < std::min(table.live.size(), tables.front().live.size()); ++i)
        check_state(request, group, table.live[i], tables.front().live[i]);
    }
  }

  void check_state(const ActiveRequest& request, std::size_t group, const StateEntry& entry, const StateEntry& first) {
    const std::int64_t id = request.record.index;
    require(entry.index == first.index, "states of request {} differ between groups", id);
    const Place at = state_place(group, entry.block), first_at = state_place(0, first.block);
    if (!is_block(at) || !is_block(first_at)) return;
    const PrefixKey published = key(at);
    require((published == 0) == (key(first_at) == 0), "a checkpoint of request {} is not in every group", id);
    if (published == 0) return;
    const std::int64_t units = geometry_.state_block() / geometry_.match_unit();
    bool own = false;
    // In 0.33 an exported state stands in the column before the running one, whatever its own would be.
    const std::int64_t from = positions_ ? 0 : entry.index, to = positions_ ? entry.index + 2 : entry.index + 1;
    for (std::int64_t unit = from * units; unit < std::min<std::int64_t>(to * units, std::ssize(request.keys)); ++unit)
      own = own || published == CachePeek::states(scheduler_).group_keys()(
                                    request.keys[static_cast<std::size_t>(unit)], group);
    require(own, "state {} of request {} is not published under its prefix", entry.index, id);
  }

  void check_references(const BlockArena& pool, const std::vector<std::int64_t>& holds) {
    require(pool.references(null_block_id) == 0 && pool.key(null_block_id) == 0, "the null block is in use");
    const auto known = static_cast<BlockId>(pool.num_known());
    for (BlockId block = known; block < holds.size(); ++block)
      require(holds[block] == 0, "block {} was never taken and has {} references", block, holds[block]);
    for (BlockId block = 1; block < known; ++block) {
      require(pool.references(block) == holds[block], "block {} counts {} references and has {}", block,
              pool.references(block), holds[block]);
      require(holds[block] < 2 || pool.is_findable(block), "block {} is shared and not published", block);
    }
  }

  void check_queue(const BlockArena& pool) {
    const auto& links = ArenaPeek::links(pool);
    std::vector<bool> queued(static_cast<std::size_t>(pool.num_blocks()));
    BlockId at = null_block_id;
    std::int64_t count = 0;
    bool key_seen = false;
    const auto known = static_cast<BlockId>(pool.num_known());
    const auto has_key = [&](BlockId block) { return block < known && pool.is_findable(block); };
    do {
      const BlockId next = links[at].next;
      if (next >= links.size() || links[next].previous != at || (next != null_block_id && queued[next])) {
        require(false, "the free queue is broken behind block {}", at);
        return;
      }
      at = next;
      if (at == null_block_id) break;
      const BlockId end = ArenaPeek::queue(pool).end_of_row(at);
      std::fill(queued.begin() + at, queued.begin() + end, true);
      count += end - at;
      require(!key_seen || has_key(at), "block {} without a key queues behind one with a key", at);
      key_seen = key_seen || has_key(at);
    } while (true);
    require(count == pool.num_free(), "the free queue counts {} blocks and has {}", pool.num_free(), count);
    for (BlockId block = known; block < static_cast<std::size_t>(pool.num_blocks()); ++block)
      require(queued[block] != is_absent(pool, block), "block {} was never taken and does not queue", block);
    for (BlockId block = 1; block < known; ++block) {
      const bool free = pool.is_free(block) && !is_absent(pool, block);
      require(queued[block] == free, "block {} is {} and {}", block,
              queued[block] ? "in the free queue" : "not in the free queue",
              free ? "free" : "held, or in no large page here");
      require(ArenaPeek::queue(pool).contains(block) == queued[block], "the link of block {} is wrong", block);
    }
  }

  std::int64_t pool_index(const BlockArena& pool) const { return &pool - pools_.data(); }

  std::int64_t page_of(std::int64_t pool, std::int64_t block) const {
    return block / geometry_.blocks_per_large_page[static_cast<std::size_t>(pool)];
  }

  /// Is the block in a large page that the pool does not have?
  bool is_absent(const BlockArena& pool, BlockId block) const {
    const PageLedger* ledger = scheduler_.cache().ledger();
    return ledger && ledger->pool_of(page_of(pool_index(pool), block)) != pool_index(pool);
  }

  void check_ledger(const PageLedger& ledger) {
    std::vector<std::int64_t> held(static_cast<std::size_t>(ledger.num_pages())), findable(held);
    for (std::int64_t index = 0; index < std::ssize(pools_); ++index) {
      const BlockArena& pool = pools_[static_cast<std::size_t>(index)];
      std::int64_t absent = 0;
      for (BlockId block = 1; block < static_cast<std::size_t>(pool.num_blocks()); ++block) {
        const bool known = block < static_cast<std::size_t>(pool.num_known());
        if (known && !pool.is_free(block)) ++held[static_cast<std::size_t>(page_of(index, block))];
        if (known && pool.is_findable(block)) ++findable[static_cast<std::size_t>(page_of(index, block))];
        if (!is_absent(pool, block)) continue;
        ++absent;
        require(!known || (pool.is_free(block) && !pool.is_findable(block)),
                "block {} of arena {} lies in a large page that the arena does not have", block, index);
      }
      require(absent == pool.num_absent(), "{} blocks of arena {} lie in pages of others, counted {}", absent, index,
              pool.num_absent());
    }
    require(ledger.pool_of(0) < 0, "the null page is in use");
    std::int64_t free = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> idle, mixed;
    for (std::int64_t page = 1; page < ledger.num_pages(); ++page) {
      require(held[static_cast<std::size_t>(page)] == ledger.held_in(page), "large page {} has {} held blocks, counted "
              "{}", page, held[static_cast<std::size_t>(page)], ledger.held_in(page));
      const std::int64_t pool = ledger.pool_of(page), keyed = findable[static_cast<std::size_t>(page)];
      if (pool < 0) {
        ++free;
      } else if (held[static_cast<std::size_t>(page)] == 0) {
        require(keyed > 0, "large page {} is empty and has not gone back", page);
        const bool evictable = keyed == geometry_.blocks_per_large_page[static_cast<std::size_t>(pool)];
        (evictable ? idle : mixed).emplace_back(LedgerPeek::age(ledger, page), page);
      }
    }
    require(free == ledger.num_free(), "{} large pages are no pool's, counted {}", free, ledger.num_free());
    const auto check_list = [&](auto& pages, const auto& listed, const char* what) {
      std::sort(pages.begin(), pages.end());
      require(std::equal(pages.begin(), pages.end(), listed.begin(), listed.end()),
              "{} large pages are {}, and the list of those has {}", pages.size(), what, listed.size());
    };
    check_list(idle, LedgerPeek::idle(ledger), "evictable");
    check_list(mixed, LedgerPeek::mixed(ledger), "unused and not evictable");
  }

  void check_index(const BlockArena& pool) {
    check_index(pool, ArenaPeek::index(pool), ArenaPeek::buckets(pool), true);
    if (const auto& tails = ArenaPeek::tails(pool)) check_index(pool, *tails, ArenaPeek::buckets_of(*tails), false);
  }

  // `dated`: were the blocks of a key published in the order of their steps? Those of a tail are entered anew later.
  template <class Buckets>
  void check_index(const BlockArena& pool, const HashIndex& index, const Buckets& buckets, bool dated) {
    std::map<PrefixKey, std::vector<BlockId>> by_key;
    for (BlockId block = 1; block < static_cast<std::size_t>(pool.num_known()); ++block)
      if (index.key(block) != 0) by_key[index.key(block)].push_back(block);
    std::size_t keyed = 0;
    for (const auto& [key, blocks] : by_key) {
      keyed += blocks.size();
      std::vector<BlockId> found = index.all(key);
      require(!dated || std::is_sorted(found.begin(), found.end(), [&](BlockId a, BlockId b) {
        return pool.published_step(a) < pool.published_step(b);
      }), "the blocks of key {:x} are not found oldest first", key);
      std::sort(found.begin(), found.end());
      require(found == blocks, "the index does not find the {} blocks of key {:x}", blocks.size(), key);
    }
    require(static_cast<std::size_t>(index.size()) == keyed, "the index counts {} blocks, {} carry a key",
            index.size(), keyed);
    const auto filled = std::count_if(buckets.begin(), buckets.end(),
                                      [](const auto& bucket) { return bucket.oldest != null_block_id; });
    require(static_cast<std::size_t>(filled) == by_key.size(), "the index has {} slots for {} keys", filled,
            by_key.size());
  }

  void check_counters(const BlockArena& pool) {
    for (const BlockKind kind : {BlockKind::attention, BlockKind::state, BlockKind::extra}) {
      std::int64_t held = 0, findable = 0;
      for (BlockId block = 1; block < static_cast<std::size_t>(pool.num_known()); ++block) {
        if (pool.kind(block) != kind) continue;
        held += pool.is_free(block) ? 0 : 1;
        findable += pool.is_findable(block) ? 1 : 0;
      }
      require(held == pool.num_held(kind), "{} blocks of kind {} are held, counted {}", held,
              static_cast<int>(kind), pool.num_held(kind));
      require(findable == pool.num_findable(kind), "{} blocks of kind {} can be found, counted {}", findable,
              static_cast<int>(kind), pool.num_findable(kind));
    }
  }

  void check_kept(const KeptPrefixes& kept, std::size_t arena) {
    const BlockArena& pool = pools_[arena];
    for (BlockId block = 1; block < static_cast<std::size_t>(pool.num_known()); ++block)
      require(!pool.is_free(block) || !pool.is_findable(block) || kept.accounts_for(arena, block),
              "block {} is free and can be found, and nothing that is kept needs it", block);
  }

  const Scheduler& scheduler_;
  const CacheGeometry& geometry_;
  const PrefixPositions* positions_;                  // nullptr with the plain rules
  std::span<const BlockArena> pools_;             // (arena)
  std::vector<std::vector<std::int64_t>> holds_;  // (arena, blocks), found in the tables
  std::string where_;                             // the arena being checked, where there are several
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> find_violations(const Scheduler& scheduler) { return InvariantChecker(scheduler).run(); }

}  // namespace hybridkv
