#include "simulator/blocks/cache_parts.h"

#include <unistd.h>

#include <algorithm>

#include "simulator/blocks/block_rules.h"

namespace hybridkv {

namespace {

/// A pool that never evicts needs no pages of others.
std::unique_ptr<PageLedger> make_ledger(const CacheGeometry& geometry) {
  validate(geometry);
  if (!geometry.shares_large_pages() || geometry.unlimited_pool) return nullptr;
  return std::make_unique<PageLedger>(geometry.num_large_pages(), geometry.blocks_per_large_page);
}

std::vector<BlockArena> make_pools(const CacheGeometry& geometry, PageLedger* ledger) {
  const bool in_order = geometry.rules.blocks->releases_in_order();
  BlockArena::Rules rules{.releases_in_order = in_order,
                          .tail_keys = in_order && geometry.has_partial_tails(),
                          .ledger = ledger,
                          .most_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
  std::vector<BlockArena> pools;
  pools.reserve(static_cast<std::size_t>(geometry.num_arenas()));
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
    rules.number = arena;
    pools.emplace_back(geometry.arena_blocks(arena), geometry.unlimited_pool, rules);
  }
  return pools;
}

/// Blocks in the tables of a request.
std::int64_t num_blocks(const RequestBlocks& request) {
  std::int64_t blocks = 0;
  for (const auto& table : request.attention)
    blocks += std::ssize(table) - std::count(table.begin(), table.end(), null_block_id);
  for (const StateTable& table : request.states) blocks += std::ssize(table.live) + std::ssize(table.spare);
  return blocks;
}

}  // namespace

CacheParts::CacheParts(const CacheGeometry& of)
    : geometry(of),
      ledger(make_ledger(of)),
      pools(make_pools(of, ledger.get())),
      attention(geometry, pools),
      states(geometry, pools),
      held(geometry, pools),
      demand(pools.size()) {
  if (geometry.unlimited_pool) return;
  if (!geometry.scheduler.evicts_as_engines())
    kept = std::make_unique<KeptPrefixes>(geometry, pools, attention, states);
  else
    victims = geometry.rules.blocks->victims(*this);
  VictimChooser* const chooser = kept ? kept.get() : victims.get();
  if (chooser == nullptr) return;
  for (std::size_t arena = 0; arena < pools.size(); ++arena) pools[arena].ask(*chooser, arena);
}

std::vector<std::pair<std::int64_t, BlockId>> CacheParts::found_free(const RequestBlocks& request) const {
  std::vector<std::pair<std::int64_t, BlockId>> found;
  const auto add = [&](std::int64_t arena, BlockId block) {
    if (block != null_block_id && pools[static_cast<std::size_t>(arena)].is_free(block))
      found.emplace_back(arena, block);
  };
  for (std::size_t group = 0; group < request.attention.size(); ++group)
    for (const BlockId block : request.attention[group]) add(attention.groups()[group].arena, block);
  for (std::size_t group = 0; group < request.states.size(); ++group)
    for (const StateEntry& entry : request.states[group].live)
      add(static_cast<std::int64_t>(states.arena(group)), entry.block);
  return found;
}

bool CacheParts::fits(const RequestBlocks& request, Tables tables, bool keep_watermark) {
  if (ledger) {
    const double spared = keep_watermark ? geometry.scheduler.watermark : 0;
    const auto spare = static_cast<std::int64_t>(spared * static_cast<double>(ledger->num_pages()));
    std::vector<std::pair<std::int64_t, BlockId>> found_blocks;
    if (tables == Tables::found) found_blocks = found_free(request);
    const bool alone = ledger->num_held() == (tables == Tables::held ? num_blocks(request) : 0);
    bool room = ledger->fits(pools, demand, spare, found_blocks);
    takes_mixed_ = !room && alone;
    if (takes_mixed_) room = ledger->fits(pools, demand, spare, found_blocks, true);
    std::fill(demand.begin(), demand.end(), 0);
    return room;
  }
  bool room = true;
  for (std::size_t arena = 0; arena < pools.size(); ++arena)
    room = pools[arena].has_room(std::exchange(demand[arena], 0)) && room;
  return room;
}

void CacheParts::provide(RequestBlocks& request) {
  ledger->provide(pools, demand, request, takes_mixed_);
  std::fill(demand.begin(), demand.end(), 0);
}

}  // namespace hybridkv
