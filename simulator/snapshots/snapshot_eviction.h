#pragma once

#include <cstdint>
#include <vector>

#include "simulator/snapshots/snapshot_tree.h"

namespace hybridkv {

/// Pages of the device that were chosen by age; what left the tree with them is not counted.
struct EvictedPages {
  std::int64_t blocks = 0;
  std::int64_t states = 0;
};

/// Makes room for so many states and blocks at once: of each pool exactly as many pages as are short leave from the old
/// end of its queue, states first, of the chosen ones the youngest first. A page of K and V takes its node and all
/// below along; a state goes alone, and a leaf that is left without any page leaves. Before PR 17323 (`alone` false)
/// a leaf that loses its state leaves with its K and V, and upwards whatever then is a leaf without a state.
///
/// With pools on the host what is chosen moves there, the oldest first, and these make room in the same way; of what
/// they cannot take the oldest is dropped, and never what the request holds. A page whose node leaves while it moves
/// lies there for nobody until it is the oldest.
/// False, and nothing is evicted, where free and idle pages of a pool do not suffice.
class SnapshotEviction {
 public:
  SnapshotEviction(SnapshotTree& tree, PagePool& pages, PagePool& states, bool alone)
      : tree_(tree), pages_(pages), states_(states), alone_(alone) {}

  bool make_room(std::int64_t states, std::int64_t blocks, EvictedPages& evicted);

 private:
  using Pages = std::vector<SnapshotPage>;

  bool move_to_host(Pages states, Pages blocks);
  void drop_state(SnapshotPage state);
  void drop_block(SnapshotPage page);
  void drop_states(const Pages& chosen);
  void drop_blocks(const Pages& chosen);

  SnapshotTree& tree_;
  PagePool& pages_;
  PagePool& states_;
  bool alone_;
};

}  // namespace hybridkv
