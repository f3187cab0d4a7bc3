// TensorRT-LLM and llama.cpp, whose rules are read: plans at 40 GiB worked by hand.
#include "planner/tensor_pool_rules.h"

#include <doctest/doctest.h>

#include "engines/llama_cpp/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/demand.h"
#include "planner/evidence.h"
#include "planner/grain_split.h"
#include "planner/plan.h"
#include "planner/tensor_pool_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec read_engine(const EngineRules* rules, CacheMode mode = CacheMode::align) {
  EngineSpec engine{.rules = rules,
                    .tensor_parallel = 2,
                    .strategy = rules->strategy,
                    .cache_mode = mode,
                    .memory_bytes = 40 * gib};
  return engine;
}

CachePlan source_only_plan(const EngineSpec& engine, const ModelSpec& model = qwen35_397b()) {
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

std::string refusal(const EngineSpec& engine, const ModelSpec& model = qwen35_397b()) {
  try {
    source_only_plan(engine, model);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "accepted";
}

constexpr std::int64_t conv = 3 * 6144 * 2, ssm = 32 * 128 * 128 * 4;  // of one layer of Qwen3.5-397B at TP2
constexpr std::int64_t token_block = 15 * 32 * 1024;                   // 15 layers, 32 tokens of 1,024 bytes

}  // namespace

TEST_CASE("golden: Qwen3.5-397B in TensorRT-LLM's pool groups, by hand") {
  const CachePlan plan = source_only_plan(read_engine(&rules_of_tensorrt_llm));
  REQUIRE(plan.arenas.size() == 2);
  CHECK(plan.arenas[0].bytes_per_id == token_block);
  CHECK(plan.arenas[1].bytes_per_id == 45 * (conv + ssm));
  CHECK(45 * (conv + ssm) == 96'030'720);
  // A request of half the longest length, 16,384 tokens, counts as two of 8,192: 256 + 256 blocks, and 2 states. 2,048
  // of them and a dummy take, in grains of 32 MiB:
  const std::int64_t grain = 32 * mib;
  CHECK(plan.pool_groups == PoolGroups{grain, 16'384, 512, 2, 0, 0});
  const std::int64_t of_blocks = (2048 * 512 * token_block + grain - 1) / grain;
  const std::int64_t of_states = (4097 * 45 * conv + grain - 1) / grain + (4097 * 45 * ssm + grain - 1) / grain;
  CHECK(of_blocks == 15'360);
  CHECK(of_states == 203 + 11'523);
  // 1,280 grains: states, the lighter group, get round(1280 * 11726 / 27086) = 554; 193 slots take 10 of conv and
  // 543 of ssm, a slot more would take 11 + 546 or fit neither.
  CHECK(ids_in(554, std::vector<std::int64_t>{45 * conv, 45 * ssm}, grain) == 193);
  CHECK(plan.arenas[1].num_ids == 193);
  const std::int64_t left = 1280 - (193 * 45 * conv + grain - 1) / grain - (193 * 45 * ssm + grain - 1) / grain;
  CHECK(plan.arenas[0].num_ids == left * grain / token_block);
  CHECK(plan.arenas[0].num_ids == 49'629);
  // Blocks of an id lie together: K and V of layer j begin j pages into it; so do the tensors of states in their pools.
  REQUIRE(plan.pools.size() == 3);
  CHECK(plan.pools[0].bytes == 49'629 * token_block);
  CHECK(plan.pools[1].bytes == 193 * 45 * conv);
  CHECK(plan.pools[2].bytes == 193 * 45 * ssm);
  CHECK(plan.lanes[4] == LanePlan{{0}, {0}, 4 * 32 * 1024, token_block, 32 * 1024});
  CHECK(plan.lanes[15 + 45 + 7] == LanePlan{{1}, {2}, 7 * ssm, 45 * ssm, ssm});
  // A request: 1,024 blocks, the running state and a snapshot.
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{1024, 2});
  CHECK(plan.capacity[0].usable_concurrency == 49'628.0 / 1024);
  CHECK(plan.capacity[0].kv_cache_tokens == 49'629 * 32);
  CHECK(plan.max_running_requests == 192 / 2);
  CHECK(plan.prefix.match_unit_tokens == 32);
  CHECK(plan.waste.at_load.wasted_bytes() == 0);
  CHECK(evidence_of(plan) == Evidence::source_only);
}

TEST_CASE("golden: states of so many requests are kept whatever the shares are") {
  EngineSpec engine = read_engine(&rules_of_tensorrt_llm);
  engine.max_running_requests = 300;
  // 301 states of 93 MB take 17 + 903 grains; 360 grains of 32 MiB are left for blocks.
  const CachePlan plan = source_only_plan(engine);
  CHECK(plan.arenas[1].num_ids == 301);
  CHECK(plan.arenas[0].num_ids ==
        (1280 - (301 * 45 * conv + 32 * mib - 1) / (32 * mib) - (301 * 45 * ssm + 32 * mib - 1) / (32 * mib)) *
            (32 * mib) / token_block);
  engine.max_running_requests = 500;
  CHECK(refusal(engine).find("engine.memory: 1280 grains of 33554432 bytes are too few") != std::string::npos);
  engine.max_running_requests = 5;
  CHECK(source_only_plan(engine).max_running_requests == 5);
}

TEST_CASE("golden: pool_ratio in place of lengths") {
  EngineSpec engine = read_engine(&rules_of_tensorrt_llm);
  engine.state_memory_ratio = 0.25;
  // 1 to 0.25 of 1,280 grains: states get 256, of which 89 slots take 5 + 251; blocks 1,024 grains.
  const CachePlan plan = source_only_plan(engine);
  CHECK(plan.arenas[1].num_ids == 89);
  CHECK(plan.arenas[0].num_ids == 1024 * 32 * mib / token_block);
}

TEST_CASE("golden: a snapshot every interval, where a token pays its part of it") {
  EngineSpec engine = read_engine(&rules_of_tensorrt_llm, CacheMode::all);
  const std::int64_t m = 96'030'720, a = 15'360;
  // a + M / 256 = 390,480 bytes a token. Requests of 16,384 tokens: 40 GiB / (16384 * 390480 + M) = 6.
  const CachePlan plan = source_only_plan(engine);
  CHECK(a + m / 256 == 390'480);
  CHECK(40 * gib / (16'384 * (a + m / 256) + m) == 6);
  const std::int64_t tokens = (40 * gib - 7 * m) / 390'480;
  CHECK(plan.arenas[0].num_ids == tokens / 32);
  CHECK(plan.arenas[1].num_ids == 7 + tokens / 256);
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{1024, 32'768 / 256 + 1});
  CHECK(plan.capacity[0].bytes_per_request == 32'768 * (a + m / 256) + m);
  CHECK(request_demand(plan, 257).ids[1] == 2);
  CHECK(request_demand(plan, 256).ids[1] == 2);
  CHECK(request_demand(plan, 255).ids[1] == 1);
  CHECK(plan.prefix.match_unit_tokens == 256);
  engine.own.set(group_key::mamba_state_cache_interval, 1024);
  CHECK(request_demand(source_only_plan(engine), 32'768).ids[1] == 33);
}

TEST_CASE("golden: Qwen3.5-397B in llama.cpp's cells and rows, by hand") {
  const CachePlan plan = source_only_plan(read_engine(&rules_of_llama_cpp));
  const std::int64_t row = 45 * (2 * conv + ssm);  // convolutions in fp32 too
  CHECK(row == 97'689'600);
  REQUIRE(plan.arenas.size() == 2);
  CHECK(plan.arenas[0] == ArenaPlan{"cells", (40 * gib - 4 * row) / 15'360 / 256 * 256, 15'360, false});
  CHECK(plan.arenas[0].num_ids == 2'770'688);
  CHECK(plan.arenas[1] == ArenaPlan{"rows", 4, row, false});
  REQUIRE(plan.rows);
  CHECK(plan.rows->sequences == 4);
  CHECK(plan.rows->unified);
  CHECK(plan.rows->slot_cells == 2'770'688);
  CHECK(plan.rows->checkpoint_bytes == 28 + 24 * 45 + row);
  CHECK(plan.rows->bytes.prompt(1) == plan.rows->checkpoint_bytes + 4 + 4 + 24 + 8 + 30 * 12 + 15'360);
  CHECK(plan.rows->host_bytes() == 4 * 32 * plan.rows->checkpoint_bytes);
  CHECK(plan.max_fitting_tokens == 2'770'687);  // the last token of a context is never computed
  // A pool a layer: 15 of cells, 45 of r, 45 of s.
  REQUIRE(plan.pools.size() == 15 + 45 + 45);
  CHECK(plan.lanes[15 + 3] == LanePlan{{1}, {18}, 0, 2 * conv, 2 * conv});
  CHECK(plan.pools[104].bytes == 4 * ssm);
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{32'768, 1});
  CHECK(plan.max_running_requests == 4);
  CHECK(plan.capacity[0].usable_concurrency == 4);
  CHECK(plan.capacity[0].kv_cache_tokens == 2'770'688);
  CHECK(plan.capacity[0].bytes_per_request == plan.capacity[0].ideal_bytes_per_request);
  CHECK(plan.waste.at_load.null_block_bytes == 0);
  CHECK(plan.prefix.match_unit_tokens == 1);
  CHECK(plan.prefix.duplicate_misses_up_to_tokens == 4);
}

TEST_CASE("golden: rows to take drafts back, sequences and checkpoints as set") {
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  engine.speculative_tokens = 3;
  engine.max_running_requests = 8;
  engine.own.set(row_key::ctx_checkpoints, 10);
  const CachePlan plan = source_only_plan(engine);
  CHECK(plan.arenas[1].num_ids == 8 * 4);
  CHECK(plan.arenas[1].bytes_per_id == 97'689'600);  // convolutions are no longer for drafts
  CHECK(plan.max_running_requests == 8);
  CHECK(plan.capacity[0].ids_by_cause == IdsByCause{.tokens = 32'768, .states = 1, .speculative = 3});
  CHECK(plan.rows->host_bytes() == 8 * 10 * std::int64_t(97'690'708));
  // A number of sequences splits the cells, unless they are said to be shared.
  CHECK_FALSE(plan.rows->unified);
  CHECK(plan.rows->cells == 8 * plan.rows->slot_cells);
  CHECK(plan.max_fitting_tokens == plan.rows->slot_cells - 1);
  engine.cache_mode = CacheMode::none;
  const CachePlan without = source_only_plan(engine);
  CHECK(without.rows->host_bytes() == 0);
  CHECK_FALSE(without.prefix.cacheable);
}

TEST_CASE("edge: what one of these engines is not told is refused, with the key and a way out") {
  EngineSpec june{.tensor_parallel = 2, .memory_bytes = 40 * gib};
  june.own.set(group_key::avg_seq_len, 5);
  CHECK(refusal(june).find("engine.avg_seq_len: vLLM main of June 2026") == 0);
  CHECK(refusal(june).find("set engine.release to tensorrt-llm") != std::string::npos);
  june.own.reset(group_key::avg_seq_len);
  june.own.set(row_key::ctx_checkpoints, 5);
  CHECK(refusal(june).find("set engine.release to llama.cpp") != std::string::npos);
  june.own.reset(row_key::ctx_checkpoints);
  june.strategy = Strategy::pool_groups;
  CHECK(refusal(june).find("engine.strategy: pool_groups is that of TensorRT-LLM alone") == 0);
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  engine.own.set(group_key::mamba_state_cache_interval, 256);
  CHECK(refusal(engine).find("engine.mamba_state_cache_interval: llama.cpp has no such setting") == 0);
  engine = read_engine(&rules_of_llama_cpp);
  engine.block_size_tokens = 32;
  CHECK(refusal(engine).find("engine.block_size_tokens: llama.cpp has no such setting; its cells") == 0);
  engine = read_engine(&rules_of_llama_cpp, CacheMode::all);
  CHECK(refusal(engine).find("engine.cache_mode: llama.cpp has no mode all") == 0);
  engine = read_engine(&rules_of_llama_cpp);
  engine.memory_bytes = 390'000'000;
  CHECK(refusal(engine).find("engine.memory: 390000000 bytes are too few: the rows") == 0);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.block_size_tokens = 48;
  CHECK(refusal(engine).find("engine.block_size_tokens: is 48") == 0);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.own.set(group_key::mamba_state_cache_interval, 512);
  CHECK(refusal(engine).find("engine.mamba_state_cache_interval: keeps a snapshot every 512 tokens") == 0);
  engine = read_engine(&rules_of_tensorrt_llm, CacheMode::all);
  engine.own.set(group_key::mamba_state_cache_interval, 40);
  CHECK(refusal(engine).find("it must be a multiple of the block of 32 tokens") != std::string::npos);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.speculative_tokens = 2;
  CHECK(refusal(engine).find("engine.speculative_tokens") == 0);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.strategy = Strategy::dual_pool;
  CHECK(refusal(engine).find("engine.strategy: TensorRT-LLM has no dual_pool; its strategy is pool_groups") == 0);
  ModelSpec windows = qwen35_397b();
  windows.layers[3].attention = sliding_attention(2, 256, 4096);
  for (const EngineRules* const rules : {&rules_of_tensorrt_llm, &rules_of_llama_cpp})
    CHECK(refusal(read_engine(rules), windows).find("engine.release: pools of") == 0);
}

TEST_CASE("rule: what is not known exactly of these engines is said with every plan") {
  for (const EngineRules* const rules : {&rules_of_tensorrt_llm, &rules_of_llama_cpp}) {
    const CachePlan plan = source_only_plan(read_engine(rules));
    std::size_t read = 0, assumed = 0;
    for (const Warning& warning : plan.warnings) {
      read += warning.code == "rules_read";
      assumed += warning.code == "assumption";
    }
    CHECK(read == 1);
    CHECK(assumed == rules->assumptions.size());
    for (const Decision& decision : plan.derivation) {
      CAPTURE(decision.result.symbol);
      CHECK(decision.source.find("vLLM") == std::string::npos);
    }
  }
}
