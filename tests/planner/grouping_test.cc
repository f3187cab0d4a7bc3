// Groups and pools: vLLM get_kv_cache_groups.
#include "planner/grouping.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Layers = std::vector<std::int64_t>;

std::int64_t pages_per_group_of(const Layers& pages, std::optional<std::int64_t> asked = {}) {
  std::vector<SpecPlan> specs(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i) specs[i].num_pages = pages[i];
  Derivation derivation;
  return pages_per_group(specs, asked, {}, {derivation, *default_rules()});
}

/// The planner's input of a spec whose layers are 0, 1, 2, …
SpecPlan counted_spec(std::int64_t id, std::int64_t layers, std::int64_t pack) {
  SpecPlan spec;
  spec.id = id;
  for (std::int64_t i = 0; i < layers; ++i) spec.layers.push_back(i);
  spec.layers_per_page = pack;
  spec.unpadded_page_bytes = 1;
  spec.num_pages = (layers + pack - 1) / pack;
  return spec;
}

EngineSpec generous(EngineSpec engine = {}) {
  engine.memory_bytes = 80 * gib;
  return engine;
}

Layers pool_layers(const PoolPlan& pool) {
  Layers layers;
  for (const LayerRef& layer : pool.shared_by) layers.push_back(layer.layer);
  return layers;
}

}  // namespace

TEST_CASE("golden: pages per group, the most where less than 1.5 times the fewest") {
  CHECK(pages_per_group_of({16, 48}) == 16);
  CHECK(pages_per_group_of({17, 48}) == 17);
  CHECK(pages_per_group_of({16, 48, 5}) == 5);
  CHECK(pages_per_group_of({4, 5}) == 5);
  CHECK(pages_per_group_of({4, 6}) == 4);  // exactly 1.5 times
  CHECK(pages_per_group_of({5, 7}) == 7);
  CHECK(pages_per_group_of({7, 5}) == 7);
  CHECK(pages_per_group_of({8}) == 8);
}

TEST_CASE("golden: engine.layers_per_group overrides the rule, as far as some group is filled") {
  CHECK(pages_per_group_of({16, 48}, 24) == 24);
  CHECK(pages_per_group_of({16, 48}, 48) == 48);
  CHECK(pages_per_group_of({16, 48}, 1) == 1);
  CHECK_THROWS_WITH_AS(pages_per_group_of({16, 48}, 49),
                       "engine.layers_per_group: no kind of layer fills a group of 49 pages (layers, or packs of "
                       "them): the widest would have 48, and a pool would hold nothing; take 48",
                       SpecError);
  CHECK_THROWS_WITH_AS(pages_per_group_of({5, 6}, 4), doctest::Contains("the widest would have 3"), SpecError);
  CHECK(pages_per_group_of({5, 6}, 3) == 3);
  // 48 gdn and 16 attention layers in groups of 12: 4 and 2 of them, the second of attention 4 layers short of 12.
  EngineSpec engine = generous({.cache_mode = CacheMode::align});
  engine.layers_per_group = 12;
  const CachePlan plan = make_plan(qwen35_27b(), engine, {.max_model_lens = {8192}});
  CHECK(plan.pools.size() == 12);
  REQUIRE(plan.groups.size() == 6);
  CHECK(plan.groups[0].layers().size() == 12);
  CHECK(plan.groups[5].layers().size() == 8);
  CHECK(plan.groups[5].padding_positions == 4);
  // Packs of 4: 4 pages of attention; a group of 2 of them.
  engine.attention_pack_size = 4;
  engine.layers_per_group = 2;
  CHECK(make_plan(qwen35_27b(), engine, {.max_model_lens = {8192}}).groups.size() == 26);
  engine.strategy = Strategy::dual_pool;
  CHECK_THROWS_WITH_AS(make_plan(qwen35_27b(), engine, {.max_model_lens = {8192}}),
                       "engine.layers_per_group: is 2, but strategy dual_pool makes one group of all layers of a kind; "
                       "leave it out, or take another engine.strategy",
                       SpecError);
}

TEST_CASE("golden: one MTP layer makes 17 layers per group of the 27B") {
  EngineSpec engine = generous({.cache_mode = CacheMode::align});
  engine.speculative_tokens = 3;
  engine.mtp_layers = 1;
  const CachePlan plan = make_plan(qwen35_27b(), engine, {.max_model_lens = {8192}});
  CHECK(plan.pools.size() == 17);
  REQUIRE(plan.groups.size() == 4);  // three gdn groups, then attention
  CHECK(plan.groups[3].layers().size() == 17);
  CHECK(plan.groups[3].layers().back() == 64);
  CHECK(plan.groups[3].padding_positions == 0);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(plan.groups[i].layers().size() == 16);
    CHECK(plan.groups[i].padding_positions == 1);
  }
  CHECK(pool_layers(plan.pools[0]) == Layers{0, 1, 2, 3});
  CHECK(pool_layers(plan.pools[16]) == Layers{64});
}

TEST_CASE("golden: a sliding-window draft of 5 layers makes groups 10, 4 and 1") {
  EngineSpec engine = generous({.cache_mode = CacheMode::align});
  engine.speculative_tokens = 7;
  engine.draft = DraftSpec{5, sliding_attention(4, 256, 2048)};
  engine.max_num_batched_tokens = 2048;
  const CachePlan plan = make_plan(qwen35_27b(), engine, {.max_model_lens = {4096}});
  CHECK(plan.pools.size() == 5);
  REQUIRE(plan.groups.size() == 15);
  Layers sizes;
  for (const GroupPlan& group : plan.groups) sizes.push_back(std::ssize(group.layers()));
  CHECK(sizes == Layers{5, 5, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 5});
  CHECK(plan.groups[10].layers() == Layers{3, 19, 35, 51});  // attention layers 3, 7, 11, …: every fourth of them
  CHECK(plan.specs[plan.groups[14].spec].draft);
  CHECK(plan.groups[14].layers() == Layers{0, 1, 2, 3, 4});
  CHECK(plan.capacity.front().blocks_per_request == 116);  // 4 * 5 + 10 * (2 + 7) + 6
}

TEST_CASE("golden: with both kinds in one layer attention comes first") {
  const CachePlan plan = make_plan(falcon_h1_3b(), generous(), {.max_model_lens = {2048}});
  CHECK(plan.pools.size() == 32);
  REQUIRE(plan.groups.size() == 2);
  CHECK(plan.specs[plan.groups[0].spec].attention.has_value());
  CHECK(plan.specs[plan.groups[1].spec].state.has_value());
  for (std::int64_t i = 0; i < 32; ++i) CHECK(plan.pools[i].shared_by == std::vector<LayerRef>{{0, i}, {1, i}});
}

TEST_CASE("golden: group i takes pages i, i + groups, …, the last pack may be short") {
  const SpecPlan specs[] = {counted_spec(0, 7, 1), counted_spec(1, 7, 2)};
  Derivation derivation;
  const std::vector<GroupPlan> groups = make_groups(specs, 3, 1, {}, {derivation, *default_rules()});
  REQUIRE(groups.size() == 5);
  using Pages = std::vector<Layers>;
  CHECK(groups[0].pages == Pages{{0}, {3}, {6}});
  CHECK(groups[1].pages == Pages{{1}, {4}});
  CHECK(groups[2].pages == Pages{{2}, {5}});
  CHECK(groups[3].pages == Pages{{0, 1}, {4, 5}});
  CHECK(groups[4].pages == Pages{{2, 3}, {6}});
  CHECK(groups[0].padding_positions == 0);
  CHECK(groups[4].padding_positions == 1);
}

TEST_CASE("golden: pool j is shared by the j-th page of every group") {
  const SpecPlan specs[] = {counted_spec(0, 3, 1), counted_spec(1, 4, 2)};
  Derivation derivation;
  const std::vector<PoolPlan> pools =
      make_pools(make_groups(specs, 2, 1, {}, {derivation, *default_rules()}), 2, 10, 100);
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].bytes == 1000);
  CHECK(pools[0].page_bytes == 100);
  CHECK(pools[0].shared_by == std::vector<LayerRef>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(pools[1].shared_by == std::vector<LayerRef>{{0, 2}, {1, 2}, {1, 3}});
}

TEST_CASE("law: every layer is in exactly one group of its spec, in the order of the packs") {
  CHECK(check_plans("layers in groups", 5'000, SpecSize::real, [](const RandomSpecs& specs, const CachePlan& plan) {
    std::map<std::int64_t, Layers> seen;  // spec -> layers
    for (const GroupPlan& group : plan.groups) {
      const SpecPlan& spec = plan.specs[group.spec];
      RC_ASSERT(std::ssize(group.pages) + group.padding_positions == std::ssize(plan.pools));
      for (const Layers& page : group.pages) {
        const auto first = std::find(spec.layers.begin(), spec.layers.end(), page.front());
        RC_ASSERT((first - spec.layers.begin()) % spec.layers_per_page == 0);
        RC_ASSERT(std::equal(page.begin(), page.end(), first));  // neighbours in the list of the spec
        RC_ASSERT(std::ssize(page) == spec.layers_per_page || page.back() == spec.layers.back());
        seen[group.spec].insert(seen[group.spec].end(), page.begin(), page.end());
      }
    }
    std::int64_t attention = 0;
    std::int64_t recurrent = 0;
    for (const SpecPlan& spec : plan.specs) {
      Layers layers = seen[spec.id];
      std::sort(layers.begin(), layers.end());
      RC_ASSERT(layers == spec.layers);
      (spec.attention ? attention : recurrent) += std::ssize(spec.layers);
    }
    std::int64_t expected_attention = specs.engine.mtp_layers + (specs.engine.draft ? specs.engine.draft->layers : 0);
    std::int64_t expected_recurrent = 0;
    for (const LayerSpec& layer : specs.model.layers) {
      expected_attention += layer.attention ? 1 : 0;
      expected_recurrent += layer.recurrent ? 1 : 0;
    }
    RC_ASSERT(attention == expected_attention);
    RC_ASSERT(recurrent == expected_recurrent);
  }));
}

TEST_CASE("law: pools are shared as the groups say") {
  CHECK(check_plans("pools", 5'000, SpecSize::real, [](const RandomSpecs&, const CachePlan& plan) {
    for (std::size_t j = 0; j < plan.pools.size(); ++j) {
      std::vector<LayerRef> sharing;
      for (const GroupPlan& group : plan.groups)
        if (j < group.pages.size())
          for (std::int64_t layer : group.pages[j]) sharing.push_back({group.spec, layer});
      RC_ASSERT(plan.pools[j].shared_by == sharing);
      RC_ASSERT(!sharing.empty());
      RC_ASSERT(plan.pools[j].bytes == plan.num_blocks() * plan.page_bytes());
    }
  }));
}

TEST_CASE("golden: every third page of a spec, the last pack short") {
  const SpecPlan spec = counted_spec(0, 15, 2);  // 8 pages, the last of one layer
  CHECK(every_nth_page(spec, 1, 3) == std::vector<Layers>{{2, 3}, {8, 9}, {14}});
  CHECK(every_nth_page(spec, 0, 1).size() == 8);
  CHECK(every_nth_page(spec, 8, 1).empty());
}
