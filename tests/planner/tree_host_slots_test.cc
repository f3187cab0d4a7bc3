#include "planner/tree_host_slots.h"

#include <doctest/doctest.h>

#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

EngineSpec with_host_tier() {
  EngineSpec engine{.rules = &rules_of_sglang_0_5_23, .tensor_parallel = 2, .strategy = Strategy::dual_pool,
                    .cache_mode = CacheMode::align, .memory_bytes = 40 * testing::gib};
  engine.own.set(tree_key::enable_hierarchical_cache, true);
  return engine;
}

TreeHost host_of(const EngineSpec& engine) {
  return make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {262'144}}).tree_pools->host;
}

void check_host_refused(const SettingKey& setting, const EngineSpec& engine) {
  CHECK_THROWS_WITH_AS(host_of(engine), doctest::Contains(std::string(setting.name).c_str()), SpecError);
}

}  // namespace

TEST_CASE("golden: the host has twice the slots of the device unless said otherwise, and a page more") {
  EngineSpec engine = with_host_tier();
  CHECK(host_of(engine) == TreeHost{.tokens = 2'954'061, .states = 421});
  engine.own.set(tree_key::page_size, 64);
  CHECK(host_of(engine).tokens == 2'954'048);
  engine.own.set(tree_key::hicache_ratio, {1.5});
  engine.own.set(tree_key::hicache_write_policy, HostCopies::write_back);
  CHECK(host_of(engine) == TreeHost{.tokens = 2'215'552, .states = 316, .copies = HostCopies::write_back});
}

TEST_CASE("golden: a size is of each pool") {
  EngineSpec engine = with_host_tier();
  engine.own.set(tree_key::hicache_size, 30);  // 10^9 bytes by 15,360 and 96,030,720
  CHECK(host_of(engine) == TreeHost{.tokens = 1'953'126, .states = 313});
}

TEST_CASE("edge: refused without a tree, with both sizes, where the host is no larger, and its settings without it") {
  EngineSpec engine = with_host_tier();
  engine.cache_mode = CacheMode::none;
  check_host_refused(tree_key::enable_hierarchical_cache, engine);
  engine = with_host_tier();
  engine.own.set(tree_key::hicache_size, 20);
  check_host_refused(tree_key::hicache_size, engine);
  engine.own.set(tree_key::hicache_ratio, {3.0});
  check_host_refused(tree_key::hicache_ratio, engine);
  for (const std::vector<double>& ratio : {std::vector{1.0}, std::vector{2.0, 3.0}, std::vector{1e9}}) {
    engine = with_host_tier();
    engine.own.set(tree_key::hicache_ratio, ratio);
    check_host_refused(tree_key::hicache_ratio, engine);
    engine.own.reset(tree_key::enable_hierarchical_cache);
    check_host_refused(tree_key::hicache_ratio, engine);
  }
}
