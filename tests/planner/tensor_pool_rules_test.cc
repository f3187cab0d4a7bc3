// llama.cpp, whose rules are read: plans at 40 GiB worked by hand; and what it and TensorRT-LLM refuse.
#include "planner/tensor_pool_rules.h"

#include <doctest/doctest.h>

#include "engines/llama_cpp/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "planner/demand.h"
#include "planner/plan.h"
#include "planner/group_settings.h"
#include "planner/group_settings.h"
#include "planner/row_settings.h"
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

}  // namespace

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

namespace {

/// The message of a warning; "" where the plan has none.
std::string warning_of(const CachePlan& plan, std::string_view code) {
  for (const Warning& warning : plan.warnings)
    if (warning.code == code) return warning.message;
  return "";
}

/// Attention of a window beside short convolutions.
ModelSpec windowed_model(std::int64_t window) {
  ModelSpec model;
  model.name = "windowed";
  model.dtype = DType::bf16;
  for (int i = 0; i < 4; ++i) {
    LayerSpec layer;
    if (i % 2 == 0) layer.recurrent = ShortConvSpec{64, 3};
    else layer.attention = AttentionSpec{AttentionKind::sliding_window, 1, 1, 64, 64, window};
    model.layers.push_back(layer);
  }
  return model;
}

}  // namespace

TEST_CASE("golden: where checkpoints lie before the end of a prompt, and what a window leaves of them") {
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  engine.tensor_parallel = 1;
  engine.own.set(row_key::ctx_size, 8192);
  const auto plan_with = [&](std::int64_t window, std::int64_t ubatch) {
    engine.own.set(row_key::ubatch_size, ubatch);
    return make_plan(windowed_model(window), engine, {.max_model_lens = {4096}});
  };
  // Window 96, passes of 32: nothing is found again, unless 61 tokens were generated; with --swa-full all is.
  const CachePlan narrow = plan_with(96, 32);
  CHECK(narrow.rows->farthest_checkpoint() == 36);
  CHECK(narrow.prefix.duplicate_misses_up_to_tokens == largest_tokens);
  CHECK(warning_of(narrow, "window_reuses_nothing").find("unless 61 tokens or more were generated") !=
        std::string::npos);
  CHECK(warning_of(narrow, "block_exceeds_prompts") == "");
  engine.own.set(row_key::swa_full, true);
  const CachePlan full = plan_with(96, 32);
  CHECK(full.prefix.duplicate_misses_up_to_tokens == 4);
  CHECK(warning_of(full, "window_reuses_nothing") == "");
  engine.own.reset(row_key::swa_full);
  // Passes of 92 leave a checkpoint 96 tokens before the end: enough for a turn of a chat, not for a copy.
  const CachePlan just = plan_with(96, 92);
  CHECK(warning_of(just, "window_reuses_nothing") == "");
  CHECK(just.prefix.duplicate_misses_up_to_tokens == largest_tokens);
  CHECK(plan_with(96, 93).prefix.duplicate_misses_up_to_tokens == 97);
  // Passes of four tokens leave the last one alone.
  CHECK(plan_with(3, 4).prefix.duplicate_misses_up_to_tokens == 4);
  CHECK(plan_with(4, 4).prefix.duplicate_misses_up_to_tokens == largest_tokens);
}

TEST_CASE("edge: cells that are asked for are planned, however few; requests that they do not hold are a warning") {
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  engine.own.set(row_key::ctx_size, 4096);
  engine.own.set(row_key::checkpoint_min_step, 1'000'000);
  const CachePlan plan = source_only_plan(engine);
  CHECK(plan.rows->cells == 4096);
  CHECK_FALSE(plan.capacity[0].fits);
  CHECK(warning_of(plan, "length_does_not_fit").find("the longest that fits is 4,095 tokens") != std::string::npos);
  engine.own.reset(row_key::ctx_size);
  engine.memory_bytes = gib / 2;
  CHECK(refusal(engine).find("are too little: one request of 32,768 tokens takes") != std::string::npos);
}

TEST_CASE("golden: a plan names the faults of the engine that its settings meet") {
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  const CachePlan plain = source_only_plan(engine);
  CHECK(warning_of(plain, "stale_checkpoint").find("a single token past where a prompt goes on") != std::string::npos);
  CHECK(warning_of(plain, "drafts_in_checkpoints") == "");
  engine.own.set(row_key::ctx_checkpoints, 0);
  CHECK(warning_of(source_only_plan(engine), "stale_checkpoint") == "");
  ModelSpec kimi = qwen35_397b();
  kimi.name = "Kimi-Linear-48B-A3B";
  for (const std::int64_t slots : {1, 2, 3, 4, 5, 6, 7}) {
    engine.max_running_requests = slots;
    const bool ends = slots == 3 || slots == 5 || slots == 6;
    CHECK((warning_of(source_only_plan(engine, kimi), "ends_where_split") != "") == ends);
  }
  CHECK(warning_of(source_only_plan(engine), "ends_where_split") == "");
  engine.own.set(row_key::kv_unified, true);
  engine.max_running_requests = 3;
  CHECK(warning_of(source_only_plan(engine, kimi), "ends_where_split") == "");
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
  engine.own.set(group_key::periodic_snapshot_interval, 256);
  CHECK(refusal(engine).find("engine.periodic_snapshot_interval: llama.cpp has no such setting") == 0);
  engine = read_engine(&rules_of_llama_cpp);
  engine.block_size_tokens = 32;
  CHECK(refusal(engine).find("engine.block_size_tokens: llama.cpp has no such setting; its cells") == 0);
  engine = read_engine(&rules_of_llama_cpp, CacheMode::all);
  CHECK(refusal(engine).find("engine.cache_mode: llama.cpp has no mode all") == 0);
  engine = read_engine(&rules_of_llama_cpp);
  engine.memory_bytes = 390'000'000;
  CHECK(refusal(engine).find("engine.memory: 390000000 bytes are too few: the rows") == 0);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.speculative_tokens = 2;
  CHECK(refusal(engine).find("engine.speculative_tokens") == 0);
  engine = read_engine(&rules_of_tensorrt_llm);
  engine.strategy = Strategy::dual_pool;
  CHECK(refusal(engine).find("engine.strategy: TensorRT-LLM has no dual_pool; its strategy is pool_groups") == 0);
  ModelSpec windows = qwen35_397b();
  for (const std::int64_t window : {4096, 1}) {
    windows.layers[3].attention = sliding_attention(2, 256, window);
    CHECK(refusal(read_engine(&rules_of_tensorrt_llm), windows).find("engine.release: pools of") == 0);
    CHECK(refusal(read_engine(&rules_of_llama_cpp), windows) == "accepted");
  }
}

TEST_CASE("golden: rows of K and V of one length stand as a pair, of two lengths one behind the other") {
  EngineSpec engine = read_engine(&rules_of_llama_cpp);
  engine.own.set(row_key::cache_type_k, CellType::q8_0);
  // A head of 256 elements: 8 blocks of 34 bytes in q8_0, 512 bytes in f16.
  const auto attention = [&] { return source_only_plan(engine).specs[1].attention.value(); };
  CHECK(attention().head_size_k == 8 * 34);
  CHECK(attention().head_size_v == 512);
  CHECK(attention().form == BackendForm::diff_kv);
  engine.own.set(row_key::cache_type_v, CellType::q8_0);
  CHECK(attention().head_size_v == 8 * 34);
  CHECK(attention().form == BackendForm::paged);
}

TEST_CASE("rule: what is not known exactly of llama.cpp is said with every plan") {
  const CachePlan plan = source_only_plan(read_engine(&rules_of_llama_cpp));
  std::size_t read = 0, assumed = 0;
  for (const Warning& warning : plan.warnings) {
    read += warning.code == "rules_read";
    assumed += warning.code == "assumption";
  }
  CHECK(read == 0);  // it was run
  CHECK(assumed == rules_of_llama_cpp.assumptions.size());
  for (const Decision& decision : plan.derivation) {
    CAPTURE(decision.result.symbol);
    CHECK(decision.source.find("vLLM") == std::string::npos);
  }
}
