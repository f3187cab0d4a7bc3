// The split of TensorRT-LLM's memory between states and blocks, worked by hand, and what its settings refuse.
#include "planner/group_split.h"

#include <doctest/doctest.h>

#include "engines/tensorrt_llm/rules.h"
#include "planner/demand.h"
#include "planner/evidence.h"
#include "planner/grain_split.h"
#include "planner/group_settings.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

// Of one layer of Qwen3.5-397B at TP2.
constexpr std::int64_t conv_bytes = 3 * 6144 * 2, ssm_bytes = 32 * 128 * 128 * 2;
constexpr std::int64_t state = 45 * (conv_bytes + ssm_bytes);
constexpr std::int64_t token_block = 15 * 32 * 1024;                   // 15 layers, 32 tokens of 1,024 bytes

EngineSpec group_engine(std::int64_t requests = 64) {
  EngineSpec engine{.rules = &rules_of_tensorrt_llm,
                    .tensor_parallel = 2,
                    .strategy = Strategy::pool_groups,
                    .cache_mode = CacheMode::align,
                    .memory_bytes = 40 * gib};
  engine.own.set(group_key::max_batch_size, requests);
  return engine;
}

/// Snapshots at the end of every prompt.
EngineSpec with_ends(std::int64_t requests = 64) {
  EngineSpec engine = group_engine(requests);
  engine.own.set(group_key::offsets_from_end, {0});
  return engine;
}

CachePlan group_plan(const EngineSpec& engine, const ModelSpec& model = qwen35_397b()) {
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

std::string group_refusal(const EngineSpec& engine) {
  try {
    group_plan(engine);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "accepted";
}

bool warns(const CachePlan& plan, std::string_view code) {
  for (const Warning& warning : plan.warnings)
    if (warning.code == code) return true;
  return false;
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B in TensorRT-LLM's pool groups, by hand") {
  const CachePlan plan = group_plan(with_ends());
  REQUIRE(plan.arenas.size() == 2);
  CHECK(state == 48'844'800);  // bf16 states: its config's mamba_ssm_dtype is not looked at
  CHECK(plan.arenas[0].bytes_per_id == token_block);
  CHECK(plan.arenas[1].bytes_per_id == state);
  // A request of half the longest length, 16,384 tokens, counts as two of 8,192: 256 + 256 blocks, and 2 states. 64 of
  // them, and a state of a dummy, take in grains of 32 MiB 480 grains of blocks, 7 of conv and 177 of ssm.
  const std::int64_t grain = 32 * mib;
  CHECK(64 * 512 * token_block == 480 * grain);
  CHECK((129 * 45 * conv_bytes + grain - 1) / grain == 7);
  CHECK((129 * 45 * ssm_bytes + grain - 1) / grain == 182);
  // 1,280 grains: states, the lighter group, get round(1280 * 189 / 669) = 362; 248 slots take 13 + 349.
  CHECK(ids_in(362, std::vector<std::int64_t>{45 * conv_bytes, 45 * ssm_bytes}, grain) == 248);
  CHECK(plan.arenas[1].num_ids == 248);
  CHECK(plan.arenas[0].num_ids == (1280 - 362) * grain / token_block);
  CHECK(plan.arenas[0].num_ids == 62'668);
  CHECK(plan.pool_groups->grains == 1280);
  CHECK(plan.pool_groups->least_bytes == 65 * state + token_block);
  // Blocks of an id lie together: K and V of layer j begin j pages into it; so do the tensors of states in their pools.
  REQUIRE(plan.pools.size() == 3);
  CHECK(plan.lanes[4] == LanePlan{{0}, {0}, 4 * 32 * 1024, token_block, 32 * 1024});
  CHECK(plan.lanes[15 + 45 + 7] == LanePlan{{1}, {2}, 7 * ssm_bytes, 45 * ssm_bytes, ssm_bytes});
  // A request: 1,024 blocks and the running state; snapshots take what is left.
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{1024, 1});
  CHECK(plan.capacity[0].kv_cache_tokens == 62'668 * 32);
  CHECK(plan.max_running_requests == 64);
  CHECK(plan.prefix.match_unit_tokens == 1);
  CHECK(plan.waste.at_load.wasted_bytes() == 0);
  CHECK(evidence_of(plan) == Evidence::run);
}

TEST_CASE("golden: a table of three models at 40 GiB, TP2") {
  struct Row {
    ModelSpec model;
    std::int64_t states, blocks, plain_states, plain_blocks, first_states, first_blocks, least;
  };
  for (const Row& row : {Row{qwen35_397b(), 248, 62'668, 145, 72'908, 819, 6'036, 100'083'486'720},
                         Row{kimi_k3(), 95, 24'120, 65, 31'819, 186, 969, 465'594'531'840}}) {
    CAPTURE(row.model.name);
    const CachePlan ends = group_plan(with_ends(), row.model), plain = group_plan(group_engine(), row.model);
    CHECK(ends.arenas[1].num_ids == row.states);
    CHECK(ends.arenas[0].num_ids == row.blocks);
    CHECK(plain.arenas[1].num_ids == row.plain_states);
    CHECK(plain.arenas[0].num_ids == row.plain_blocks);
    EngineSpec first = group_engine();
    first.own.set(group_key::use_kv_cache_manager_v2, false);
    first.own.set(group_key::periodic_snapshot_interval, 256);
    const CachePlan by_tokens = group_plan(first, row.model);
    CHECK(by_tokens.arenas[1].num_ids == row.first_states);
    CHECK(by_tokens.arenas[0].num_ids == row.first_blocks);
    // What the engine starts with unless it is told otherwise: 2,048 requests.
    EngineSpec unset = group_engine();
    unset.own.reset(group_key::max_batch_size);
    unset.memory_bytes = std::int64_t(1) << 50;
    CHECK(group_plan(unset, row.model).pool_groups->least_bytes == row.least);
  }
}

TEST_CASE("edge: parts of a typical request that are longer by a token have blocks of their own length") {
  // With a snapshot before its end 65 tokens are parts of 33 and of 32 tokens, which take 2 blocks and 1.
  GroupQuota quota{.block_tokens = 32, .typical_tokens = 65, .points = {.from_end = {0}}};
  CHECK(typical_requests(quota).states == 2);
  CHECK(typical_requests(quota).blocks == 3);
  quota.typical_tokens = 64;  // 32 and 32
  CHECK(typical_requests(quota).blocks == 2);
}

TEST_CASE("edge: less than the least memory is refused with what starts") {
  EngineSpec engine = group_engine();
  engine.own.reset(group_key::max_batch_size);
  const std::string message = group_refusal(engine);
  CHECK(message.find("engine.memory: 42949672960 bytes are too few") == 0);
  CHECK(message.find("each of 2048 requests and 1 more") != std::string::npos);
  CHECK(message.find("starts with 100083486720 bytes at least") != std::string::npos);
  CHECK(message.find("set engine.max_batch_size, 2048 by default, to 877 or fewer") != std::string::npos);
  engine.own.set(group_key::max_batch_size, 877);
  CHECK(group_plan(engine).arenas[1].num_ids >= 878);
}

TEST_CASE("edge: memory of just the least bytes, but too few grains for its pools, is refused with what starts") {
  // Two states of half a MiB in each of two pools and a block of 1 MiB are 3 MiB. But each of the three pools takes a
  // grain of 2 MiB, and the third grain begins behind 4 MiB.
  GroupQuota quota{.memory_bytes = 3 * mib, .requests = 1, .state_pools = {mib / 2, mib / 2}, .block_pools = {mib}};
  CHECK(least_memory(quota) == quota.memory_bytes);
  CHECK_THROWS_WITH_AS(split_groups(quota), doctest::Contains("starts with 4194305 bytes at least"), SpecError);
  quota.memory_bytes = 4 * mib;
  CHECK_THROWS_AS(split_groups(quota), SpecError);
  quota.memory_bytes = 4 * mib + 1;
  CHECK_NOTHROW(split_groups(quota));
}

TEST_CASE("golden: the host is split by the device's weights in pages of 4 KiB, by hand") {
  EngineSpec engine = with_ends();
  CHECK_FALSE(group_plan(engine).pool_groups->host.exists());  // none unless it is set
  engine.own.set(group_key::host_cache_size, 64 * gib);
  // 64 GiB are 16,777,216 pages, of which states get 189 of 669: 4,739,752. A state takes 405 pages of conv and 11,520
  // of ssm, a block 120.
  CHECK(45 * conv_bytes == 405 * host_page_bytes);
  CHECK(45 * ssm_bytes == 11'520 * host_page_bytes);
  CHECK(token_block == 120 * host_page_bytes);
  const CachePlan plan = group_plan(engine);
  CHECK(plan.pool_groups->host == GroupHost{64 * gib, 0, (16'777'216 - 397 * 11'925) / 120, 4'739'752 / 11'925});
  CHECK(plan.pool_groups->host == GroupHost{64 * gib, 0, 100'358, 397});
  CHECK(plan.arenas[1].num_ids == 248);  // the device is what it was
  CHECK(evidence_of(plan) == Evidence::run);
  CHECK_FALSE(warns(plan, "host_raised"));
  engine.own.set(group_key::pool_ratio, {0.5, 0.5});
  CHECK(group_plan(engine).pool_groups->host.states == 8'388'608 / 11'925);
}

TEST_CASE("edge: a host has the least of the device, states of all requests and a block, however little is asked for") {
  EngineSpec engine = with_ends();
  engine.own.set(group_key::host_cache_size, 4 * gib);
  // A share of 24 states is less than 65, which take 775,125 of 1,048,576 pages.
  CHECK(group_plan(engine).pool_groups->host == GroupHost{4 * gib, 0, (1'048'576 - 775'125) / 120, 65});
  const std::int64_t least_bytes = 775'245 * host_page_bytes;
  engine.own.set(group_key::host_cache_size, 1);
  const CachePlan least = group_plan(engine);
  CHECK(least.pool_groups->host == GroupHost{least_bytes, least_bytes - 1, 1, 65});
  CHECK(warns(least, "host_raised"));
  engine.own.set(group_key::host_cache_size, least_bytes - host_page_bytes + 1);
  CHECK_FALSE(warns(group_plan(engine), "host_raised"));  // no more than the rest of a page
}

TEST_CASE("rule: shares by weights of the groups, and a share that is pinned to the least") {
  EngineSpec engine = group_engine();
  engine.own.set(group_key::pool_ratio, {0.2, 0.8});
  // The first layer has a state: it gets 256 of 1,280 grains, of which 175 slots take 10 + 246.
  CHECK(group_plan(engine).arenas[1].num_ids == 175);
  EngineSpec same = group_engine();
  same.state_memory_ratio = 0.25;
  CHECK(group_plan(same).arenas[1].num_ids == 175);
  engine.own.set(group_key::pool_ratio, {0.01, 0.99});
  CHECK(group_plan(engine).arenas[1].num_ids == 65);
}

TEST_CASE("rule: a plan that finds nothing says so loudly, and what to set") {
  CHECK(warns(group_plan(group_engine()), "no_snapshots"));
  CHECK_FALSE(group_plan(group_engine()).prefix.cacheable);
  CHECK(warns(group_plan(with_ends()), "copies_find_nothing"));
  EngineSpec periodic = group_engine();
  periodic.own.set(group_key::periodic_snapshot_interval, 100);
  const CachePlan plan = group_plan(periodic);
  CHECK_FALSE(warns(plan, "no_snapshots"));
  CHECK_FALSE(warns(plan, "copies_find_nothing"));
  CHECK(plan.prefix.match_unit_tokens == 100);
  EngineSpec off = group_engine();
  off.cache_mode = CacheMode::none;
  CHECK_FALSE(warns(group_plan(off), "no_snapshots"));
}

TEST_CASE("edge: settings that do not go together are refused with their key") {
  const auto refused = [](auto change, const char* path) {
    EngineSpec engine = group_engine();
    change(engine);
    CAPTURE(path);
    CHECK(group_refusal(engine).find(path) == 0);
  };
  refused([](EngineSpec& e) { e.block_size_tokens = 48; }, "engine.block_size_tokens: is 48");
  refused([](EngineSpec& e) { e.own.set(group_key::tokens_per_block, 48); }, "engine.tokens_per_block: is 48");
  refused([](EngineSpec& e) { e.max_running_requests = 9; }, "engine.max_batch_size: is 64, and");
  refused([](EngineSpec& e) { e.cache_mode = CacheMode::all; }, "engine.cache_mode");
  refused([](EngineSpec& e) { e.own.set(group_key::pool_ratio, {0.5}); }, "engine.pool_ratio: has 1 weights");
  refused([](EngineSpec& e) { e.own.set(group_key::pool_ratio, {0.5, 0.6}); }, "engine.pool_ratio: is [0.5, 0.6]");
  refused([](EngineSpec& e) {
    e.own.set(group_key::use_kv_cache_manager_v2, false);
    e.own.set(group_key::offsets_from_end, {0});
  }, "engine.additional_snapshot_offsets_from_end: is refused by the first manager");
  refused([](EngineSpec& e) {
    e.own.set(group_key::use_kv_cache_manager_v2, false);
    e.own.set(group_key::host_cache_size, gib);
  }, "engine.host_cache_size: is planned of the second manager alone");
  refused([](EngineSpec& e) { e.own.set(group_key::host_cache_size, 0); }, "engine.host_cache_size: is 0");
  refused([](EngineSpec& e) { e.own.set(group_key::offsets_from_start, {0}); },
          "engine.additional_snapshot_offsets_from_start: is 0");
}
