#include "simulator/snapshots/snapshot_eviction.h"

#include <algorithm>
#include <vector>

namespace hybridkv {

bool SnapshotEviction::make_room(std::int64_t states, std::int64_t blocks, EvictedPages& evicted) {
  const std::int64_t short_states = std::max<std::int64_t>(0, states - states_.num_free());
  const std::int64_t short_blocks = std::max<std::int64_t>(0, blocks - pages_.num_free());
  if (short_states > states_.num_idle() || short_blocks > pages_.num_idle()) return false;
  const std::vector<SnapshotPage> chosen_states = states_.oldest(short_states);
  const std::vector<SnapshotPage> chosen_pages = pages_.oldest(short_blocks);
  evict_states(chosen_states);
  evict_pages(chosen_pages);
  evicted.states += short_states;
  evicted.blocks += short_blocks;
  return true;
}

// What is no longer idle left with one before it.

void SnapshotEviction::evict_states(const std::vector<SnapshotPage>& chosen) {
  for (auto page = chosen.rbegin(); page != chosen.rend(); ++page) {
    if (!states_.is_idle(*page)) continue;
    const SnapshotNode node = states_.node_of(*page);
    tree_.evict_state(node);
    if (alone_) tree_.remove_if_empty(node);
    else tree_.remove_if_stateless(node);
  }
}

void SnapshotEviction::evict_pages(const std::vector<SnapshotPage>& chosen) {
  for (auto page = chosen.rbegin(); page != chosen.rend(); ++page)
    if (pages_.is_idle(*page)) tree_.remove_subtree(pages_.node_of(*page));
}

}  // namespace hybridkv
