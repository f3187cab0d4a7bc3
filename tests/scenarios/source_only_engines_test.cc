// Engines whose rules are read, as scenarios name them: their keys, their defaults, and plans of published models.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "planner/plan.h"
#include "scenario_text.h"

using namespace hybridkv;
using namespace hybridkv::test;

namespace {

CachePlan plan_of(const std::string& model, const std::string& engine) {
  const Scenario scenario = read_text_as_scenario(
      fmt::format("model: {}\nengine: {{memory: 40 GiB, tensor_parallel: 2, {}}}\nlimits: {{max_model_len: 32768}}\n",
                  model, engine));
  return make_plan(scenario.model, scenario.engine, scenario.limits);
}

std::string refusal_of_engine(const std::string& engine) {
  return error_of([&] { plan_of("Qwen3.5-397B-A17B", engine); });
}

}  // namespace

TEST_CASE("golden: states and tokens of three models at 40 GiB, TP2") {
  struct Row {
    const char* model;
    std::int64_t token_bytes, state_bytes, blocks, states, row_bytes, cells;
  };
  // Bytes of a token are those of the model's attention layers: 15 of 1,024; 6 of 512; 7 latents of 576 in two bytes.
  // States: 45 of (3 * 6,144 * 2 + 32 * 128 * 128 * 2); 23 of (3 * 3,072 * 2 + 32 * 64 * 128 * 4); 20 of (4 * 6,144 * 2
  // + 16 * 128 * 128 * 4). Rows have convolutions in fp32.
  for (const Row& row : {Row{"Qwen3.5-397B-A17B", 15'360, 48'844'800, 62'668, 248, 97'689'600, 2'770'688},
                         Row{"Nemotron-3-Nano-30B-A3B", 3'072, 24'541'184, 219'477, 870, 24'965'120, 13'948'416},
                         Row{"Kimi-Linear-48B-A3B", 8'064, 21'954'560, 124'440, 492, 22'446'080, 5'314'816}}) {
    CAPTURE(row.model);
    const CachePlan groups =
        plan_of(row.model, "release: tensorrt-llm, max_batch_size: 64, additional_snapshot_offsets_from_end: [0]");
    CHECK(groups.strategy == Strategy::pool_groups);
    CHECK(groups.cache_mode == CacheMode::align);
    CHECK(groups.arenas[0].bytes_per_id == 32 * row.token_bytes);
    CHECK(groups.arenas[1].bytes_per_id == row.state_bytes);
    // 512 blocks of a request against two states, in grains of 32 MiB: tests/planner/group_split_test.cc works one out.
    CHECK(groups.arenas[0].num_ids == row.blocks);
    CHECK(groups.arenas[1].num_ids == row.states);
    const CachePlan rows = plan_of(row.model, "release: llama.cpp");
    CHECK(rows.strategy == Strategy::sequence_rows);
    CHECK(rows.arenas[0].bytes_per_id == row.token_bytes);
    CHECK(rows.arenas[1].bytes_per_id == row.row_bytes);
    CHECK(rows.arenas[0].num_ids ==
          ((std::int64_t(40) << 30) - 4 * row.row_bytes) / row.token_bytes / 256 * 256);
    CHECK(rows.arenas[0].num_ids == row.cells);
  }
}

TEST_CASE("rule: keys of these engines are read, and what they say is planned") {
  const PoolGroups groups =
      plan_of("Qwen3.5-397B-A17B", "release: tensorrt-llm, mamba_state_cache_interval: 500, avg_seq_len: 4096, "
                                   "max_running_requests: 12, block_size_tokens: 64, enable_partial_reuse: false, "
                                   "additional_snapshot_offsets_from_start: [1k, 9000], enable_branch_snapshot: true")
          .pool_groups.value();
  CHECK(groups.typical_tokens == 4096);
  CHECK(groups.typical_blocks == 64);
  CHECK(groups.typical_states == 2);
  CHECK(groups.max_requests == 12);
  CHECK(groups.points == SnapshotPoints{500, {1024, 9000}, {}, true});
  CHECK_FALSE(groups.partial_reuse);
  CHECK(plan_of("Qwen3.5-397B-A17B", "release: llama.cpp, ctx_checkpoints: 5, checkpoint_min_step: 256, "
                                     "max_running_requests: 2, speculative_tokens: 1")
            .rows->checkpoints == 5);
}

TEST_CASE("edge: keys of one engine are refused of another, with the key and a way out") {
  for (const char* line : {"mamba_state_cache_interval: 256", "avg_seq_len: 4096", "pool_ratio: [0.5, 0.5]",
                           "additional_snapshot_offsets_from_end: [0]"}) {
    CAPTURE(line);
    for (const char* other : {"vllm-2026-06", "vllm-0.33", "sglang-0.5.23", "llama.cpp"})
      CHECK(refusal_of_engine(fmt::format("release: {}, {}", other, line)).find("set engine.release to tensorrt-llm") !=
            std::string::npos);
  }
  for (const char* line : {"ctx_checkpoints: 3", "checkpoint_min_step: 100"}) {
    CAPTURE(line);
    for (const char* other : {"vllm-2026-06", "vllm-0.33", "sglang-0.5.23", "tensorrt-llm"})
      CHECK(refusal_of_engine(fmt::format("release: {}, {}", other, line)).find("set engine.release to llama.cpp") !=
            std::string::npos);
  }
  for (const char* other : {"tensorrt-llm", "llama.cpp"})
    for (const char* line : {"strategy: dual_pool", "attention_pack_size: 2", "mamba_block_size_tokens: 64",
                             "kernel_alignment_tokens: 16", "kernel_block_sizes: [16]", "page_alignment_bytes: 512",
                             "backend_profile: sm90", "concurrent_batches: 2", "state_requests: 5", "kv_dtype: nvfp4",
                             "hidden_state_size: 64", "token_rule: floor", "pipeline_parallel: 2", "page_size: 16",
                             "max_mamba_cache_size: 100", "backend_form: flex", "physical_order: head_major",
                             "max_running_requests: 100000"}) {
      CAPTURE(other);
      CAPTURE(line);
      const std::string message = refusal_of_engine(fmt::format("release: {}, {}", other, line));
      CHECK(message != "no error");
      CHECK(message.find("engine.") != std::string::npos);
    }
}
