// Block ids of one request: vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config.
#include "planner/demand.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

constexpr std::int64_t block = 16;

Arrangement plan_with(CacheMode mode, std::int64_t speculative_tokens = 0, std::int64_t batch = 1) {
  Arrangement plan;
  plan.cache_mode = mode;
  plan.speculative_tokens = speculative_tokens;
  plan.max_num_batched_tokens = batch;
  return plan;
}

SpecPlan recurrent() {
  SpecPlan spec;
  spec.state = StateSpec{};
  spec.block_size_tokens = block;
  return spec;
}

SpecPlan attention(AttentionKind kind, std::int64_t window = 0) {
  SpecPlan spec;
  spec.attention = AttentionGeometry{.kind = kind, .window_tokens = window};
  spec.block_size_tokens = block;
  return spec;
}

}  // namespace

TEST_CASE("golden: recurrent groups take 1 + s, 2 + s or one id per block plus s") {
  for (std::int64_t s : {0, 1, 7}) {
    CHECK(group_entries(plan_with(CacheMode::none, s), recurrent(), 1000) == 1 + s);
    CHECK(group_entries(plan_with(CacheMode::align, s), recurrent(), 1000) == 2 + s);
    CHECK(group_entries(plan_with(CacheMode::all, s), recurrent(), 1000) == 63 + s);
    CHECK(group_entries(plan_with(CacheMode::all, s), recurrent(), 1) == 1 + s);
  }
}

TEST_CASE("golden: full attention and mla take one id per block") {
  const Arrangement plan = plan_with(CacheMode::none, 5);
  for (AttentionKind kind : {AttentionKind::full, AttentionKind::mla}) {
    CHECK(group_entries(plan, attention(kind), 1) == 1);
    CHECK(group_entries(plan, attention(kind), 16) == 1);
    CHECK(group_entries(plan, attention(kind), 17) == 2);
  }
}

TEST_CASE("golden: a window takes what it and one batch cover, and one block more") {
  // Row 14: window 2048, batch 2048, block 832, 4096 tokens: ceil(4095 / 832) + 1 = 6.
  SpecPlan sliding = attention(AttentionKind::sliding_window, 2048);
  sliding.block_size_tokens = 832;
  CHECK(group_entries(plan_with(CacheMode::align, 7, 2048), sliding, 4096) == 6);
  CHECK(group_entries(plan_with(CacheMode::align, 7, 2048), sliding, 100'000) == 6);
  CHECK(group_entries(plan_with(CacheMode::align, 7, 2048), sliding, 832) == 2);
  // The window counts the token that looks: 17 - 1 earlier ones and a batch of 16 are two blocks, not three.
  CHECK(group_entries(plan_with(CacheMode::align, 0, 16), attention(AttentionKind::sliding_window, 17), 1000) == 3);
  const SpecPlan chunked = attention(AttentionKind::chunked_local, 64);
  CHECK(group_entries(plan_with(CacheMode::none, 0, 32), chunked, 1000) == 6);
  CHECK(group_entries(plan_with(CacheMode::none, 0, 32), chunked, 16) == 1);
}

TEST_CASE("golden: a request takes the ids of all groups and extras") {
  Arrangement plan = plan_with(CacheMode::align, 2);
  plan.specs = {recurrent(), attention(AttentionKind::full)};
  plan.groups = {{.spec = 0}, {.spec = 0}, {.spec = 1}};
  plan.arenas = {{"blocks", 100, 1}};
  CHECK(request_demand(plan, 33).total() == 2 * (2 + 2) + 3);
  plan.extras.push_back({.what = "ring", .bytes_per_block = 0, .blocks_per_request = 1});
  CHECK(request_demand(plan, 33).total() == 2 * (2 + 2) + 3 + 1);
}

TEST_CASE("golden: the ids of every arena, with the null ids and without") {
  Arrangement plan = plan_with(CacheMode::align);
  plan.arenas = {{"tokens", 100, 1}, {"states", 1, 1}, {"none", 0, 1}};
  CHECK(no_demand(plan).ids == std::vector<std::int64_t>{0, 0, 0});
  CHECK(all_ids(plan).ids == std::vector<std::int64_t>{100, 1, 0});
  CHECK(usable_ids(plan).ids == std::vector<std::int64_t>{99, 0, 0});
}

TEST_CASE("golden: a load needs what its requests need, extras of each in the first arena") {
  Arrangement plan = plan_with(CacheMode::align);
  plan.arenas = {{"tokens", 100, 1}, {"states", 10, 1}};
  plan.specs = {attention(AttentionKind::full), recurrent()};
  plan.specs[1].id = 1;
  plan.groups = {{.spec = 0}, {.spec = 1, .arena = {1}}};
  plan.extras = {{"a ring", 0, 3}, {"an indexer", 256, 0}};
  CHECK(request_demand(plan, 17).ids == std::vector<std::int64_t>{2 + 3, 2});
  const std::vector<std::int64_t> load{17, 16};
  CHECK(load_demand(plan, load).ids == std::vector<std::int64_t>{2 + 3 + 1 + 3, 4});
  CHECK(plan.extra_bytes_per_id() == 256);
}

TEST_CASE("law: the longest request in so many entries takes no more of them, one token longer it does") {
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const std::int64_t s : {0, 3})
      for (const SpecPlan& spec :
           {recurrent(), attention(AttentionKind::full), attention(AttentionKind::mla),
            attention(AttentionKind::sliding_window, 1), attention(AttentionKind::sliding_window, 100),
            attention(AttentionKind::chunked_local, 1), attention(AttentionKind::chunked_local, 100)})
        for (std::int64_t entries = 0; entries <= 12; ++entries) {
          const Arrangement plan = plan_with(mode, s, 32);
          const std::int64_t longest = longest_in_entries(plan, spec, entries);
          if (longest > 0) CHECK(group_entries(plan, spec, longest) <= entries);
          if (longest < largest_tokens) CHECK(group_entries(plan, spec, longest + 1) > entries);
        }
}
