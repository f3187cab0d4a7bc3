// Table entries of one request: vLLM max_memory_usage_bytes, and what other engines keep.
#include "planner/table_rule.h"

#include <doctest/doctest.h>

#include "planner/table_formula.h"
#include "tests/planner/small_specs.h"

using namespace hybridkv;
using testing::attention;
using testing::plan_with;
using testing::recurrent;

namespace {

std::int64_t entries_of(const Arrangement& plan, const SpecPlan& spec, std::int64_t tokens) {
  return table_entries(table_rule(plan, spec), tokens);
}

}  // namespace

TEST_CASE("golden: recurrent groups take 1 + s, 2 + s or one id per block plus s") {
  for (std::int64_t s : {0, 1, 7}) {
    CHECK(entries_of(plan_with(CacheMode::none, s), recurrent(), 1000) == 1 + s);
    CHECK(entries_of(plan_with(CacheMode::align, s), recurrent(), 1000) == 2 + s);
    CHECK(entries_of(plan_with(CacheMode::all, s), recurrent(), 1000) == 63 + s);
    CHECK(entries_of(plan_with(CacheMode::all, s), recurrent(), 1) == 1 + s);
  }
}

TEST_CASE("golden: full attention and mla take one id per block") {
  const Arrangement plan = plan_with(CacheMode::none, 5);
  for (AttentionKind kind : {AttentionKind::full, AttentionKind::mla}) {
    CHECK(entries_of(plan, attention(kind), 1) == 1);
    CHECK(entries_of(plan, attention(kind), 16) == 1);
    CHECK(entries_of(plan, attention(kind), 17) == 2);
  }
}

TEST_CASE("golden: a window takes what it and one batch cover, and one block more") {
  // Row 14: window 2048, batch 2048, block 832, 4096 tokens: ceil(4095 / 832) + 1 = 6.
  SpecPlan sliding = attention(AttentionKind::sliding_window, 2048);
  sliding.block_size_tokens = 832;
  CHECK(entries_of(plan_with(CacheMode::align, 7, 2048), sliding, 4096) == 6);
  CHECK(entries_of(plan_with(CacheMode::align, 7, 2048), sliding, 100'000) == 6);
  CHECK(entries_of(plan_with(CacheMode::align, 7, 2048), sliding, 832) == 2);
  // The window counts the token that looks: 17 - 1 earlier ones and a batch of 16 are two blocks, not three.
  CHECK(entries_of(plan_with(CacheMode::align, 0, 16), attention(AttentionKind::sliding_window, 17), 1000) == 3);
  const SpecPlan chunked = attention(AttentionKind::chunked_local, 64);
  CHECK(entries_of(plan_with(CacheMode::none, 0, 32), chunked, 1000) == 6);
  CHECK(entries_of(plan_with(CacheMode::none, 0, 32), chunked, 16) == 1);
}

TEST_CASE("law: the longest request in so many entries takes no more of them, one token longer it does") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const std::int64_t s : {0, 3})
      for (const SpecPlan& spec :
           {recurrent(), attention(AttentionKind::full), attention(AttentionKind::mla),
            attention(AttentionKind::sliding_window, 1), attention(AttentionKind::sliding_window, 100),
            attention(AttentionKind::chunked_local, 1), attention(AttentionKind::chunked_local, 100)})
        for (std::int64_t entries = 0; entries <= 12; ++entries) {
          const TableRule rule = table_rule(plan_with(mode, s, 32), spec);
          const std::int64_t longest = longest_in_entries(rule, entries);
          if (longest > 0) CHECK(table_entries(rule, longest) <= entries);
          if (longest < largest_tokens) CHECK(table_entries(rule, longest + 1) > entries);
        }
}

TEST_CASE("golden: a checkpoint takes an entry with the last token of its block, not with the first") {
  // The running state, two drafts, and a checkpoint at every 16 tokens.
  const TableRule rule = table_of_checkpoints(16, 2);
  CHECK(table_entries(rule, 15) == 3);
  CHECK(table_entries(rule, 16) == 4);
  CHECK(longest_in_entries(rule, 2) == 0);
  CHECK(longest_in_entries(rule, 3) == 15);
  CHECK(longest_in_entries(rule, 4) == 31);
}

TEST_CASE("golden: what mechanisms of other engines keep of states") {
  Arrangement tree = plan_with(CacheMode::align, 3);
  tree.tree_pools.emplace().split.state_slots_per_request = 4;
  CHECK(entries_of(tree, recurrent(), 1000) == 4);
  Arrangement rows = plan_with(CacheMode::align, 3);
  rows.rows.emplace().rows_per_sequence = 4;
  CHECK(entries_of(rows, recurrent(), 1000) == 1 + 3);
  Arrangement groups = plan_with(CacheMode::align, 0);
  groups.pool_groups.emplace();
  CHECK(entries_of(groups, recurrent(), 1000) == 1);
  for (std::int64_t most = 0; most < 4; ++most)
    CHECK(longest_in_entries(table_of_ring(), most) == (most == 0 ? 0 : largest_tokens));
}

TEST_CASE("golden: tokens that ranks share are counted on the rank that has most") {
  const TableRule shared = table_of_tokens({}, testing::small_block, 4, {});
  CHECK(table_entries(shared, 64) == 1);
  CHECK(table_entries(shared, 65) == 2);
  CHECK(longest_in_entries(shared, 1) == 64);
}

TEST_CASE("golden: a rule says its formula and what its symbols are") {
  const auto says = [](const TableRule& rule) { return table_formula(rule, 1000).text(); };
  CHECK(says(table_of_tokens({}, 16, 1, {})) == "ids = ceil(L / block)");
  CHECK(says(table_of_tokens({}, 16, 2, {})) == "ids = ceil(ceil(L / DCP) / block)");
  CHECK(says(table_of_tokens({MaskKind::sliding_window, 64}, 16, 1, {.batch = 8, .batches = 2, .looked_ahead = 3})) ==
        "ids = ceil(min(window - 1 + batch * batches in flight + tokens looked ahead - 1, L) / block) + 1");
  CHECK(says(table_of_tokens({MaskKind::chunked_local, 64}, 16, 1, {.batch = 8})) ==
        "ids = ceil(min(window + batch, L) / block)");
  CHECK(says(table_of_states(CacheMode::align, 16, 2, 1)) ==
        "ids = 2 + s + c: the running state, the checkpoint before it and one that a chunk exports, mode align");
  const GroupPlan large{.entries_per_id = 4}, spread{.ids_per_entry = 3};
  CHECK(ids_formula(table_of_ring(), large, 1000).text() ==
        "ids = ceil((1) / k): a ring, whatever the length; the small pages of a large page go to one request");
  CHECK(ids_formula(table_of_tokens({}, 16, 1, {}), spread, 1000).text() ==
        "ids = ids of an entry * (ceil(L / block))");
}
