#pragma once

#include <cstdint>
#include <vector>

#include "simulator/snapshots/snapshot_tree.h"

namespace hybridkv {

/// Pages that were chosen by age; what left the tree with them is not counted.
struct EvictedPages {
  std::int64_t blocks = 0;
  std::int64_t states = 0;
};

/// Makes room for so many states and blocks at once: of each pool exactly as many pages as are short leave from the old
/// end of its queue, states first, of the chosen ones the youngest first. A page of K and V takes its node and all
/// below along; a state goes alone, and a leaf that is left without any page leaves. Before PR 17323 (`alone` false)
/// a leaf that loses its state leaves with its K and V, and upwards whatever then is a leaf without a state.
/// False, and nothing is evicted, where free and idle pages of a pool do not suffice.
class SnapshotEviction {
 public:
  SnapshotEviction(SnapshotTree& tree, PagePool& pages, PagePool& states, bool alone)
      : tree_(tree), pages_(pages), states_(states), alone_(alone) {}

  bool make_room(std::int64_t states, std::int64_t blocks, EvictedPages& evicted);

 private:
  void evict_states(const std::vector<SnapshotPage>& chosen);
  void evict_pages(const std::vector<SnapshotPage>& chosen);

  SnapshotTree& tree_;
  PagePool& pages_;
  PagePool& states_;
  bool alone_;
};

}  // namespace hybridkv
