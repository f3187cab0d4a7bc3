// What leaves the device for the host, and what the host has no room for, by hand.
#include "simulator/snapshots/snapshot_eviction.h"

#include <doctest/doctest.h>

#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

TEST_CASE("edge: of what the host has no room for nobody's goes first, though what the request holds is older") {
  // Three pages on the device and one on the host. Two blocks lie in the tree, of which the request holds the older
  // one, and all three pages are asked for: one block of the two finds room on the host.
  PagePool pages(3, 1), states(1, 1);
  SnapshotTree tree(32, true, pages, states);
  SnapshotEviction eviction(tree, pages, states, true);
  const auto add_block = [&](std::uint64_t content) {
    const SnapshotPage page = pages.take();
    tree.set_page(tree.add(SnapshotTree::root, runs_of({{content, 32}}, 32), 0, 32), page, 32);
    pages.release(page);
    return page;
  };
  const SnapshotPage held = add_block(1);
  add_block(1000);
  pages.hold(held);
  EvictedPages evicted;
  CHECK(eviction.make_room(0, 3, evicted));
  CHECK(evicted.blocks == 2);
  CHECK(pages.is_held(held));
  CHECK(pages.level_of(held) == PageLevel::host);
  CHECK(pages.num_free() == 3);
  CHECK(pages.num_free(PageLevel::host) == 0);
  CHECK(tree.num_blocks() == 1);
  CHECK(tree.match(runs_of({{1, 32}}, 32), 32).attention_tokens == 32);
}

}  // namespace hybridkv::test
