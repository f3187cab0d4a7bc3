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

TEST_CASE("edge: on a full host the oldest page gives way to what comes from the device") {
  PagePool pages(1, 1), states(1, 1);
  SnapshotTree tree(32, true, pages, states);
  SnapshotEviction eviction(tree, pages, states, true);
  EvictedPages evicted;
  for (const std::uint64_t content : {1, 1000}) {
    const SnapshotPage page = pages.take();
    tree.set_page(tree.add(SnapshotTree::root, runs_of({{content, 32}}, 32), 0, 32), page, 32);
    pages.release(page);
    CHECK(eviction.make_room(0, 1, evicted));
    CHECK(pages.num_free() == 1);
    CHECK(pages.num_free(PageLevel::host) == 0);
    CHECK(tree.num_blocks() == 1);
    CHECK(tree.match(runs_of({{content, 32}}, 32), 32).attention_tokens == 32);
  }
  CHECK(tree.match(runs_of({{1, 32}}, 32), 32).attention_tokens == 0);
}

}  // namespace hybridkv::test
