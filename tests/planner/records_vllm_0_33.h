#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "test_paths.h"
#include "tests/planner/models.h"

/// Planning results of vLLM 0.33.0's own functions, and the settings they were made with.
namespace hybridkv::testing {

inline std::vector<nlohmann::json> records_of_0_33() {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/kv_configs_vllm_0_33.jsonl");
  REQUIRE(file.is_open());
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

inline std::optional<BackendProfile> profile_of(const std::string& backend) {
  if (backend == "FLASHINFER") return BackendProfile::sm90_flashinfer;
  if (backend == "FLASHINFER_sm100") return BackendProfile::sm100_flashinfer;
  if (backend == "FLASH_ATTN_FA4_hd256") return BackendProfile::sm100_fa4;
  if (backend == "FLASHMLA") return BackendProfile::flashmla;
  if (backend == "CUTLASS_MLA") return BackendProfile::cutlass_mla;
  return BackendProfile::sm80;
}

inline EngineSpec engine_of_0_33(const nlohmann::json& row, double memory_gib) {
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = profile_of(row["backend"]);
  engine.checkpoint_alignment_tokens = row.value("checkpoint_alignment", 1);
  engine.tensor_parallel = row["tp"];
  const std::string kv = row["kv_dtype"];
  engine.kv_dtype = parse_dtype(kv);
  if (!engine.kv_dtype) engine.kv_format = parse_kv_format(kv);
  if (row.contains("ssm_dtype") && row["ssm_dtype"].is_string())
    engine.ssm_dtype = parse_dtype(row["ssm_dtype"].get<std::string>());
  engine.cache_mode = *parse_cache_mode(row["mamba_cache_mode"].get<std::string>());
  if (row["layout_requested"].is_string())
    engine.cache_order = parse_cache_order(row["layout_requested"].get<std::string>());
  engine.speculative_tokens = row["speculative_tokens"];
  engine.mtp_layers = row.value("mtp_layers", 0);
  if (row.contains("user_block_size")) engine.block_size_tokens = row["user_block_size"];
  if (row.contains("prefix_match_unit")) engine.prefix_match_unit_tokens = row["prefix_match_unit"];
  if (row.contains("override")) engine.num_blocks = row["override"];
  if (row.contains("dcp")) engine.decode_context_parallel = row["dcp"];
  engine.hybrid_manager = !row.value("no_hybrid_mgr", false);
  if (row.contains("in_flight")) {
    engine.max_num_batched_tokens = row["in_flight"];
    engine.concurrent_batches = 1;
  }
  if (row.contains("draft")) {
    const nlohmann::json& draft = row["draft"];
    AttentionSpec attention = full_attention(draft[1], draft[2]);
    if (draft[0] == "swa") {
      attention.kind = AttentionKind::sliding_window;
      attention.window_tokens = draft[4];
    }
    engine.draft = DraftSpec{draft[3], attention};
  }
  engine.memory_bytes = static_cast<std::int64_t>(memory_gib * static_cast<double>(gib));
  return engine;
}

/// Groups that share a table together, as the engine counts them.
inline std::vector<std::vector<const GroupPlan*>> tables_of(const CachePlan& plan) {
  std::vector<std::vector<const GroupPlan*>> tables;
  for (const GroupPlan& group : plan.groups) {
    if (!group.shares_table) tables.emplace_back();
    tables.back().push_back(&group);
  }
  return tables;
}

}  // namespace hybridkv::testing
