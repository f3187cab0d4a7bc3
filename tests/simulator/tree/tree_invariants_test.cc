// A dual pool and its tree are sound after every action of random workloads on tiny pools, as the slow reference has
// them, and every planted fault is found.
#include "simulator/tree/tree_invariants.h"

#include <doctest/doctest.h>

#include "tests/simulator/tree/tree_ref.h"
#include "tests/simulator/tree/tree_workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Sums over workloads, to show that they reach what they are meant for.
struct Reached {
  std::int64_t hits = 0, evicted_tokens = 0, evicted_states = 0, branches = 0, generated = 0, refused = 0, stalled = 0,
               splits = 0, states = 0;
  void add(const TreeRecord& record) {
    hits += record.hit_tokens;
    evicted_tokens += record.evicted_tokens;
    evicted_states += record.evicted_states;
    branches += record.branch_tokens > 0 ? 1 : 0;
    generated += record.generated;
    refused += record.status == RequestStatus::refused ? 1 : 0;
    stalled += record.status == RequestStatus::stalled ? 1 : 0;
    states += record.states_made;
  }
  std::int64_t least() const {
    return std::min({hits, evicted_tokens, evicted_states, branches, generated, refused, stalled, splits, states});
  }
};

}  // namespace

TEST_CASE("law: a radix tree is sound after every action of 1000 random workloads") {
  Reached reached;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    TreeSettings settings = random_tree_settings(dice);
    settings.numbers_pages = true;
    const TreeWorkload work(dice, 20);
    std::string violation;
    TreeReplay replay(settings);
    replay.after_action = [&] {
      if (!violation.empty()) return;
      const std::vector<std::string> violations = find_violations(replay);
      if (!violations.empty()) violation = violations.front();
    };
    for (const TraceRequest& request : work.batch.requests)
      reached.add(replay.run(request, work.batch.prompt(request)));
    REQUIRE(violation == "");
    reached.splits += replay.tree().num_splits();
  }
  CHECK(reached.least() > 500);
}

TEST_CASE("law: a radix tree does what its reference does with 1000 random workloads") {
  for (std::uint64_t seed = 1000; seed < 2000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const TreeSettings settings = random_tree_settings(dice);
    const TreeWorkload work(dice, 40);
    TreeReplay replay(settings);
    TreeRef reference(settings);
    for (const TraceRequest& request : work.batch.requests) {
      const TreeRecord& record = replay.run(request, work.batch.prompt(request));
      const TreeRecord expected =
          reference.run(request.index, work.tokens(request.index), request.input_length, request.output_length);
      REQUIRE(tree_csv_row(record, true) == tree_csv_row(expected, true));
      REQUIRE(record == expected);
    }
  }
}

TEST_CASE("law: counted pages and numbered pages give the same records") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    TreeSettings settings = random_tree_settings(dice);
    const TreeWorkload work(dice, 20);
    TreeReplay counted(settings);
    settings.numbers_pages = true;
    TreeReplay numbered(settings);
    for (const TraceRequest& request : work.batch.requests)
      REQUIRE(counted.run(request, work.batch.prompt(request)) == numbered.run(request, work.batch.prompt(request)));
  }
}

namespace {

/// A replay stopped in its last request, which has hit a prefix, split it, and computed a chunk of its own.
struct PlantedTree {
  PlantedTree() {
    const TraceBatch batch = batch_of({{{1, 24}}, {{1, 12}, {2, 16}}, {{3, 20}}, {{1, 12}, {2, 8}, {4, 20}}});
    for (std::size_t i = 0; i < 3; ++i) replay.run(batch.requests[i], batch.prompt(batch.requests[i]));
    std::int64_t actions = 0;
    replay.after_action = [&] {
      if (++actions == 5) throw Stop();  // matched, slot of the copy, slots, pages, first chunk kept
    };
    try {
      replay.run(batch.requests[3], batch.prompt(batch.requests[3]));
    } catch (const Stop&) {
    }
    content.assign(batch.prompt(batch.requests[3]).begin(), batch.prompt(batch.requests[3]).end());
    request().content = content;
  }
  struct Stop {};
  auto& tree() { return TreePeek::tree(replay); }
  auto& nodes() { return TreePeek::nodes(tree()); }
  TreeRequest& request() { return TreePeek::request(replay); }
  /// A leaf and a node with a state that nobody locks.
  TreeNodeId leaf() { return TreePeek::leaves(tree()).front(); }
  TreeNodeId state() { return TreePeek::by_state(tree()).front(); }
  bool found(const std::string& expected) {
    for (const std::string& violation : find_violations(replay))
      if (violation.find(expected) != std::string::npos) return true;
    return false;
  }

  TreeReplay replay{{.token_slots = 200, .state_slots = 12, .page = 2, .chunk_tokens = 10, .model_chunk = 4,
                     .track_interval = 4, .numbers_pages = true}};
  std::vector<TokenRun> content;
};

}  // namespace

TEST_CASE("fault: nothing is found in a tree where nothing is planted") {
  PlantedTree planted;
  CHECK(find_violations(planted.replay).empty());
  CHECK(planted.request().locks_state);
  CHECK(planted.request().node != tree_root);
  CHECK(planted.tree().num_splits() > 0);
  CHECK(planted.nodes()[planted.leaf()].locks == 0);
  CHECK(planted.nodes()[planted.state()].state_locks == 0);
}

TEST_CASE("fault: wrong locks of a tree are found") {
  PlantedTree planted;
  SUBCASE("one too many") {
    ++planted.nodes()[planted.leaf()].locks;
    CHECK(planted.found("has 1 locks"));
  }
  SUBCASE("one above the request's node is missing") {
    const TreeNodeId parent = planted.nodes()[planted.request().node].parent;
    REQUIRE(parent != tree_root);
    --planted.nodes()[parent].locks;
    CHECK(planted.found("has 0 locks"));
  }
  SUBCASE("a state is locked for nobody") {
    ++planted.nodes()[planted.state()].state_locks;
    CHECK(planted.found("the state of node"));
  }
  SUBCASE("a locked state is gone") {
    TreePeek::by_state(planted.tree()).remove(planted.request().node);
    planted.tree().free_states().push_back(std::exchange(planted.nodes()[planted.request().node].state, 0));
    CHECK(planted.found("locks no state"));
  }
}

TEST_CASE("fault: lists of a tree that disagree with its nodes are found") {
  PlantedTree planted;
  auto& leaves = TreePeek::leaves(planted.tree());
  auto& states = TreePeek::by_state(planted.tree());
  SUBCASE("a leaf is not listed") {
    leaves.remove(planted.leaf());
    CHECK(planted.found("is not listed"));
  }
  SUBCASE("a node with children is listed") {
    leaves.push_back(planted.nodes()[planted.request().node].parent);
    CHECK(planted.found("is listed and no leaf"));
  }
  SUBCASE("leaves stand in the wrong order") {
    leaves.push_back(leaves.pop_front());
    CHECK(planted.found("stands before an older one"));
  }
  SUBCASE("a state is not listed") {
    states.remove(planted.state());
    CHECK(planted.found("is not listed"));
  }
  SUBCASE("a node without a state is listed") {
    const TreeNodeId node = planted.state();
    planted.tree().free_states().push_back(std::exchange(planted.nodes()[node].state, 0));
    CHECK(planted.found("is listed and has no state"));
  }
}

TEST_CASE("fault: wrong sizes of a tree are found") {
  PlantedTree planted;
  SUBCASE("tokens") {
    ++TreePeek::tokens(planted.tree());
    CHECK(planted.found("the tree counts"));
  }
  SUBCASE("tokens that can be evicted") {
    --TreePeek::evictable(planted.tree());
    CHECK(planted.found("tokens can be evicted"));
  }
  SUBCASE("children") {
    ++planted.nodes()[planted.request().node].children;
    CHECK(planted.found("children and counts"));
  }
  SUBCASE("owners of runs") {
    TreePeek::runs(planted.tree()).share(planted.nodes()[planted.leaf()].runs);
    CHECK(planted.found("owners and count"));
  }
  SUBCASE("pages of the request") {
    --planted.request().own_pages;
    CHECK(planted.found("of the request are not"));
    CHECK(planted.found("the request has"));
  }
  SUBCASE("tokens that the request protects") {
    planted.request().protected_tokens -= 2;
    CHECK(planted.found("protects"));
  }
}

TEST_CASE("fault: slots and pages that stand twice or are lost are found") {
  PlantedTree planted;
  SUBCASE("two nodes keep one state slot") {
    auto& nodes = planted.nodes();
    nodes[planted.state()].state = nodes[planted.request().node].state;
    CHECK(planted.found("stands 2 times"));
    CHECK(planted.found("stands 0 times"));
  }
  SUBCASE("the request runs in a node's slot") {
    planted.request().active = planted.nodes()[planted.request().node].state;
    CHECK(planted.found("state slot"));
  }
  SUBCASE("a tracking slot is lost") {
    planted.request().tracking.pop_back();
    CHECK(planted.found("stands 0 times"));
  }
  SUBCASE("a node lacks a page of its KV") {
    TreePeek::rows(planted.tree())[planted.leaf()].pop_back();
    CHECK(planted.found("pages"));
    CHECK(planted.found("stands 0 times"));
  }
  SUBCASE("the request writes into a page of the tree") {
    REQUIRE(!planted.request().rows.empty());
    planted.request().rows.back() = TreePeek::rows(planted.tree())[planted.leaf()].front();
    CHECK(planted.found("page"));
    CHECK(planted.found("stands 2 times"));
  }
}

TEST_CASE("fault: nodes that do not hang together are found") {
  PlantedTree planted;
  auto& nodes = planted.nodes();
  SUBCASE("a gap above a node") {
    nodes[planted.leaf()].start += 2;
    CHECK(planted.found("not where its parent ends"));
  }
  SUBCASE("half a page") {
    ++nodes[planted.leaf()].end;
    CHECK(planted.found("has tokens"));
  }
  SUBCASE("a parent that is gone") {
    nodes[planted.leaf()].parent = 999;
    CHECK(planted.found("which is gone"));
  }
  SUBCASE("another content") {
    ++nodes[planted.leaf()].chain;
    CHECK(planted.found("has another chain"));
  }
  SUBCASE("a path of another content than the request's") {
    for (TokenRun& run : planted.content) ++run.chain;
    CHECK(planted.found("other content"));
  }
  SUBCASE("the root counts a child that it does not have") {
    ++nodes[tree_root].children;
    CHECK(planted.found("children and counts"));
  }
  SUBCASE("the index forgot a node") {
    TreePeek::index(planted.tree()).erase(planted.leaf());
    CHECK(planted.found("the index does not find"));
    CHECK(planted.found("the index has"));
  }
  SUBCASE("a node was given back and is still in use") {
    TreePeek::unused(planted.tree()).push_back(planted.leaf());
    CHECK(find_violations(planted.replay).size() > 1);
  }
  SUBCASE("a node was given back twice") {
    const TreeNodeId leaf = planted.leaf();
    for (int i = 0; i < 2; ++i) TreePeek::unused(planted.tree()).push_back(leaf);
    CHECK(planted.found("node " + std::to_string(leaf) + " is unused twice"));
  }
  SUBCASE("a use in the future") {
    nodes[planted.leaf()].used = 1'000'000;
    CHECK(planted.found("was used at"));
  }
}
