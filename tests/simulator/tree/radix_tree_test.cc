// The prefix tree of a dual pool, operation by operation.
#include "simulator/tree/radix_tree.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// A tree whose callers take their pages as a request does.
struct GrownTree {
  explicit GrownTree(const RadixTree::Settings& settings) : tree(settings) {}

  std::vector<TokenRun> runs(const PromptSegments& prompt) const { return batch_of({prompt}).runs; }
  /// Inserts a prompt as somebody who computed all of it, with a state at its end if there is to be one.
  TreeInsertion insert(const PromptSegments& prompt, bool with_state = true) {
    const std::vector<TokenRun> content = runs(prompt);
    const std::int64_t page = tree.settings().page, pages = content.back().end_token / page;
    PageRows rows;
    tree.token_pool().take(pages, rows);
    const StateSlot offered = with_state ? tree.free_states().pop_front() : 0;
    const TreeInsertion done = tree.insert(content, content.back().end_token, offered, {0, &rows});
    if (with_state && !done.took_state) tree.free_states().push_back(offered);
    return done;
  }
  TreeMatch match(const PromptSegments& prompt) { return match(prompt, runs(prompt).back().end_token); }
  TreeMatch match(const PromptSegments& prompt, std::int64_t limit) { return tree.match(runs(prompt), limit); }

  RadixTree tree;
};

GrownTree small_tree(std::int64_t page = 1) { return GrownTree({.token_slots = 100, .state_slots = 8, .page = page}); }

}  // namespace

TEST_CASE("law: a match ends at the deepest node with KV and state, KV alone may go on") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  grown.insert({{1, 10}, {2, 10}}, false);
  const TreeMatch match = grown.match({{1, 10}, {2, 10}, {3, 5}});
  CHECK(match.hit_tokens == 10);
  CHECK(match.kv_tokens == 20);
  CHECK(grown.tree.end_of(match.node) == 10);
}

TEST_CASE("law: a match inside a node splits it, and the state stays at the lower part's end") {
  GrownTree grown = small_tree();
  const TreeNodeId whole = grown.insert({{1, 10}}).node;
  const TreeMatch match = grown.match({{1, 6}, {2, 6}});
  CHECK(match == TreeMatch{.kv_tokens = 6});
  CHECK(grown.tree.num_nodes() == 2);
  CHECK(grown.tree.num_splits() == 1);
  CHECK(grown.tree.num_tokens() == 10);
  CHECK(grown.tree.end_of(whole) == 10);
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{10});
  CHECK(grown.match({{1, 10}}).hit_tokens == 10);
}

TEST_CASE("law: matches and cuts are whole pages") {
  GrownTree grown = small_tree(4);
  grown.insert({{1, 22}});  // 20 of it
  CHECK(grown.tree.num_tokens() == 20);
  CHECK(grown.match({{1, 15}, {2, 10}}).kv_tokens == 12);
  CHECK(grown.match({{1, 20}}, 19).kv_tokens == 16);
  CHECK(grown.match({{1, 3}}).kv_tokens == 0);
}

TEST_CASE("law: KV that is there wins, duplicates are freed, and a second state stays its owner's") {
  GrownTree grown = small_tree();
  const TreeInsertion first = grown.insert({{1, 10}});
  CHECK(first.took_state);
  CHECK(first.existing_tokens == 0);
  const TreeInsertion second = grown.insert({{1, 10}});
  CHECK(second.node == first.node);
  CHECK(second.existing_tokens == 10);
  CHECK_FALSE(second.took_state);
  CHECK(grown.tree.token_pool().free_tokens() == 90);
  CHECK(grown.tree.free_states().size() == 7);
  CHECK(grown.insert({{1, 4}, {2, 6}}).existing_tokens == 4);
  CHECK(grown.tree.token_pool().free_tokens() == 84);
}

TEST_CASE("law: pages of a path are the first owner's, in token order") {
  GrownTree grown({.token_slots = 100, .state_slots = 8, .page = 2, .numbers_pages = true});
  grown.insert({{1, 10}});
  const TreeInsertion other = grown.insert({{1, 6}, {2, 4}});
  CHECK(grown.tree.rows_of(other.node) == PageRows{1, 2, 3, 9, 10});
  CHECK(grown.tree.rows_of(grown.match({{1, 10}}).node) == PageRows{1, 2, 3, 4, 5});
}

TEST_CASE("law: leaves are evicted whole, least recently used first, with their state") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  grown.insert({{2, 10}});
  grown.insert({{3, 10}});
  grown.match({{1, 10}});
  grown.tree.evict_tokens(1);
  CHECK(grown.tree.evictions() == TreeEvictions{10, 1, 1, 1});
  CHECK(grown.match({{2, 10}}).kv_tokens == 0);
  CHECK(grown.match({{1, 10}}).hit_tokens == 10);
}

TEST_CASE("law: a parent whose last child went is a leaf by the time of its own last use") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}, {2, 5}});
  grown.insert({{1, 10}, {3, 5}});
  grown.insert({{4, 10}});
  // Both children go, then the parent, which was used before the third prompt.
  grown.tree.evict_tokens(15);
  CHECK(grown.tree.num_tokens() == 10);
  CHECK(grown.match({{4, 10}}).hit_tokens == 10);
  CHECK(grown.tree.evictions() == TreeEvictions{20, 2, 3, 2});
}

TEST_CASE("law: evicting a state inside the tree leaves its KV, at a leaf both go") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  grown.insert({{1, 10}, {2, 5}});
  grown.tree.evict_states(1);
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{15});
  CHECK(grown.tree.num_tokens() == 15);
  grown.tree.evict_states(1);
  CHECK(grown.tree.num_states() == 0);
  CHECK(grown.tree.num_tokens() == 10);  // no cascade
  CHECK(grown.match({{1, 10}}) == TreeMatch{.kv_tokens = 10});
}

TEST_CASE("law: a match refreshes the state it hits and none above it") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  grown.insert({{1, 10}, {2, 5}});
  grown.insert({{3, 10}});
  grown.match({{1, 10}, {2, 5}});
  grown.tree.evict_states(2);
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{15});
}

TEST_CASE("law: nothing that is locked is evicted") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  const TreeNodeId node = grown.insert({{1, 10}, {2, 5}}).node;
  grown.tree.lock(node);
  grown.tree.lock_state(node);
  CHECK(grown.tree.evictable_tokens() == 0);
  grown.tree.evict_tokens(100);
  CHECK(grown.tree.num_tokens() == 15);
  grown.tree.evict_states(100);
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{15});
  grown.tree.unlock_state(node);
  grown.tree.evict_states(100);  // a leaf whose KV is locked gives its state alone
  CHECK(grown.tree.num_states() == 0);
  CHECK(grown.tree.num_tokens() == 15);
  grown.tree.unlock(node);
  CHECK(grown.tree.evictable_tokens() == 15);
  CHECK_THROWS_AS(grown.tree.unlock(node), std::logic_error);
  CHECK_THROWS_AS(grown.tree.lock_state(node), std::logic_error);
}

TEST_CASE("law: the shallowest states of a path beyond its limit go, forks stay") {
  GrownTree grown({.token_slots = 100, .state_slots = 8, .max_states_per_path = 2});
  grown.insert({{1, 10}});
  grown.insert({{1, 20}});
  grown.insert({{1, 30}});
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{20, 30});
  grown.insert({{1, 20}, {2, 5}});  // a fork at 20
  grown.insert({{1, 40}});
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{20, 25, 40});
  CHECK(grown.tree.num_trimmed_states() == 2);
  CHECK(grown.tree.evictions() == TreeEvictions{});
  CHECK(grown.tree.num_tokens() == 45);
}

TEST_CASE("law: states are counted that were hit at least once, and among the evicted those that never were") {
  GrownTree grown = small_tree();
  grown.insert({{1, 10}});
  grown.insert({{2, 10}});
  grown.match({{2, 10}, {3, 1}});
  grown.match({{2, 10}, {4, 1}});
  CHECK(grown.tree.num_used_states() == 1);
  grown.tree.evict_states(2);
  CHECK(grown.tree.evictions() == TreeEvictions{20, 2, 2, 1});
  grown.insert({{2, 10}});  // a state of its own, not hit yet
  grown.match({{2, 10}, {3, 1}});
  CHECK(grown.tree.num_used_states() == 2);
}

TEST_CASE("law: a path is trimmed when a node takes a state, not when one that has it is inserted again") {
  GrownTree grown({.token_slots = 100, .state_slots = 8, .max_states_per_path = 1});
  grown.insert({{1, 10}});
  grown.insert({{1, 10}, {2, 5}}, false);
  grown.insert({{1, 10}, {3, 5}});
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{10, 15});  // a fork at 10
  grown.tree.evict_tokens(1);                                                // no more
  grown.insert({{1, 10}, {3, 5}});
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{10, 15});
  grown.insert({{1, 10}, {3, 5}, {4, 5}});
  CHECK(grown.tree.state_positions() == std::vector<std::int64_t>{20});
}

TEST_CASE("law: prompts of many runs are told apart at any token") {
  // Five runs of 7 tokens; another prompt leaves it at every token in turn.
  PromptSegments prompt;
  for (std::uint64_t id = 1; id <= 5; ++id) prompt.push_back({id, 7});
  for (std::int64_t cut = 1; cut < 35; ++cut) {
    GrownTree grown({.token_slots = 1000, .state_slots = 8});
    grown.insert(prompt);
    PromptSegments other;
    for (std::int64_t left = cut; left > 0; left -= 7)
      other.push_back({prompt[other.size()].id, std::min<std::int64_t>(7, left)});
    other.push_back({99, 10});
    CHECK(grown.match(other).kv_tokens == cut);
    CHECK(grown.insert(other).existing_tokens == cut);
    CHECK(grown.match(other).hit_tokens == cut + 10);
    CHECK(grown.match(prompt).hit_tokens == 35);
    CHECK(grown.tree.num_tokens() == 45);
  }
}

TEST_CASE("edge: a node leaves with what hangs below it on the host, where no copy of its state has room") {
  // Copies are made of what leaves. The first prompt's end, which has no state, is on the host alone. The one place for
  // a state there is the second prompt's, which is loaded back and keeps its copy.
  GrownTree grown({.token_slots = 100, .state_slots = 8,
                   .host = {.tokens = 200, .states = 1, .copies = HostCopies::write_back}});
  const TreeNodeId upper = grown.insert({{1, 10}}).node;
  grown.insert({{1, 10}, {2, 5}}, false);
  grown.tree.evict_tokens(1);
  grown.insert({{3, 10}});
  grown.tree.lock(upper);
  grown.tree.evict_tokens(1);
  grown.tree.unlock(upper);
  CHECK(grown.match({{1, 10}, {2, 5}}).kv_tokens == 15);
  StateSlot running = 0;
  REQUIRE(grown.tree.load_back(grown.match({{3, 10}}).node, running));
  grown.tree.free_states().push_back(running);
  REQUIRE(grown.tree.num_nodes() == 3);
  REQUIRE(grown.tree.free_host_states() == 0);
  grown.tree.evict_tokens(1);
  CHECK(grown.tree.num_nodes() == 1);
  CHECK(grown.match({{1, 10}, {2, 5}}) == TreeMatch{});
  CHECK(grown.match({{3, 10}}).hit_tokens == 10);
  CHECK(grown.tree.free_host_tokens() == 200 - 10);
}

TEST_CASE("law: runs are kept as long as they are shared, and their room is used again") {
  RunStore store;
  const std::vector<TokenRun> runs{{4, 11}, {8, 12}, {12, 13}};
  const RunStore::Stretch first = store.keep(runs, 5);
  CHECK(store.run(first, 6) == TokenRun{8, 12});
  store.share(first);
  store.release(first);
  CHECK(store.owners(first) == 1);
  store.release(first);
  CHECK(store.num_kept() == 0);
  CHECK(store.keep(std::span(runs).first(4 - 1), 0) == first);
  CHECK(store.keep(runs, 0) != first);
}
