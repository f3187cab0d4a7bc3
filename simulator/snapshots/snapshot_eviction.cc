#include "simulator/snapshots/snapshot_eviction.h"

#include <algorithm>
#include <vector>

namespace hybridkv {

namespace {

using ChosenPages = std::vector<SnapshotPage>;

ChosenPages withdrawn(PagePool& pool, ChosenPages pages) {
  for (const SnapshotPage page : pages) pool.withdraw(page);
  return pages;
}

std::int64_t num_held_of(const PagePool& pool, const ChosenPages& pages) {
  return std::count_if(pages.begin(), pages.end(), [&](SnapshotPage page) { return pool.is_held(page); });
}

/// Pages of the host that leave it for so many.
ChosenPages out_of_host(PagePool& pool, const ChosenPages& coming) {
  const std::int64_t wanting = std::ssize(coming) - pool.num_free(PageLevel::host);
  return withdrawn(pool, pool.oldest(std::clamp<std::int64_t>(wanting, 0, pool.num_idle(PageLevel::host)),
                                     PageLevel::host));
}

/// Takes out of the list what the host has no room for: the oldest ones that nobody holds.
ChosenPages without_room(const PagePool& pool, ChosenPages& coming) {
  std::stable_partition(coming.begin(), coming.end(), [&](SnapshotPage page) { return !pool.is_held(page); });
  const auto room = std::min<std::int64_t>(pool.num_free(PageLevel::host), std::ssize(coming));
  ChosenPages dropped(coming.begin(), coming.end() - room);
  coming.erase(coming.begin(), coming.end() - room);
  return dropped;
}

void arrive_at_host(PagePool& pool, const ChosenPages& pages) {
  for (const SnapshotPage page : pages) pool.arrive(page, PageLevel::host);
}

}  // namespace

bool SnapshotEviction::make_room(std::int64_t states, std::int64_t blocks, EvictedPages& evicted) {
  const std::int64_t short_states = std::max<std::int64_t>(0, states - states_.num_free());
  const std::int64_t short_blocks = std::max<std::int64_t>(0, blocks - pages_.num_free());
  if (short_states > states_.num_idle() || short_blocks > pages_.num_idle()) return false;
  Pages chosen_states = withdrawn(states_, states_.oldest(short_states));
  Pages chosen_pages = withdrawn(pages_, pages_.oldest(short_blocks));
  evicted.states += short_states;
  evicted.blocks += short_blocks;
  if (pages_.has_host()) return move_to_host(std::move(chosen_states), std::move(chosen_pages));
  drop_states(chosen_states);
  drop_blocks(chosen_pages);
  return true;
}

bool SnapshotEviction::move_to_host(Pages states, Pages blocks) {
  const auto fits = [](const PagePool& pool, const Pages& pages) {
    return num_held_of(pool, pages) <= pool.num_free(PageLevel::host) + pool.num_idle(PageLevel::host);
  };
  const bool all_fit = fits(states_, states) && fits(pages_, blocks);
  if (!all_fit) {
    drop_states(states);
    drop_blocks(blocks);
    return false;
  }
  // Both pools choose before either gives anything up.
  const Pages old_states = out_of_host(states_, states), old_blocks = out_of_host(pages_, blocks);
  drop_states(old_states);
  drop_states(without_room(states_, states));
  drop_blocks(old_blocks);
  drop_blocks(without_room(pages_, blocks));
  arrive_at_host(states_, states);
  arrive_at_host(pages_, blocks);
  return true;
}

void SnapshotEviction::drop_states(const Pages& chosen) {
  for (auto page = chosen.rbegin(); page != chosen.rend(); ++page) drop_state(*page);
}

void SnapshotEviction::drop_blocks(const Pages& chosen) {
  for (auto page = chosen.rbegin(); page != chosen.rend(); ++page) drop_block(*page);
}

void SnapshotEviction::drop_state(SnapshotPage state) {
  states_.give_up(state);
  if (states_.is_held(state)) return;
  const SnapshotNode node = states_.node_of(state);
  if (node == no_node) return states_.free(state);  // its node left with another page
  tree_.evict_state(node);
  if (alone_) tree_.remove_if_empty(node);
  else tree_.remove_if_stateless(node);
}

void SnapshotEviction::drop_block(SnapshotPage page) {
  pages_.give_up(page);
  if (pages_.is_held(page)) return;
  const SnapshotNode node = pages_.node_of(page);
  if (node == no_node) return pages_.free(page);
  tree_.remove_subtree(node);
}

}  // namespace hybridkv
