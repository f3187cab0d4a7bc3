// Bytes of contexts of llama.cpp b11312: cells, rows, and what it refuses.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/plan.h"
#include "scenario_text.h"
#include "test_paths.h"

using namespace hybridkv;
using namespace hybridkv::test;
using nlohmann::json;

namespace {

/// Two layers of short convolutions, two with a window.
constexpr const char* small_windows =
    "model:\n  name: t-lfm2swa\n  dtype: bf16\n  kinds:\n"
    "    m: {type: short_conv, channels: 64, conv_kernel: 3}\n"
    "    w: {type: sliding_window, query_heads: 1, kv_heads: 1, head_size: 64, window_tokens: 96}\n  layers: mwmw\n";

constexpr std::int64_t trained_length = 131'072;

std::string scenario_of_context(const json& row) {
  const std::string model = row["model"];
  const std::int64_t asked = row["n_ctx"];
  std::string text = model == "t-lfm2swa" ? small_windows : "model: " + model + "\n";
  text += fmt::format("engine:\n  release: llama.cpp\n  memory: 64 TiB\n  ctx_size: {}\n  max_running_requests: {}\n",
                      asked == 0 ? trained_length : asked, row["n_seq_max"].get<std::int64_t>());
  text += fmt::format("  kv_unified: {}\n  batch_size: {}\n  ubatch_size: {}\n  swa_full: {}\n", row["kv_unified"] == 1,
                      row["n_batch"].get<std::int64_t>(), row["n_ubatch"].get<std::int64_t>(), row["swa_full"] == 1);
  const char* const flash = row["flash_attn"] == 1 ? "on" : row["flash_attn"] == 0 ? "off" : "auto";
  text += fmt::format("  cache_type_k: {}\n  cache_type_v: {}\n  flash_attn: \"{}\"\n",
                      row["type_k"].get<std::string>(), row["type_v"].get<std::string>(), flash);
  if (row["n_rs_seq"] != 0) text += fmt::format("  speculative_tokens: {}\n", row["n_rs_seq"].get<std::int64_t>());
  return text + "limits: {max_model_len: 1}\n";
}

/// As the engine prints it.
json mib(std::int64_t bytes) { return std::stod(fmt::format("{:.2f}", static_cast<double>(bytes) / 1048576.0)); }

/// K and V of one cache: all layers with a window, or all without one.
json cache_of(const CachePlan& plan, bool windows) {
  const SequenceRows& rows = *plan.rows;
  std::int64_t layers = 0, keys = 0, values = 0;
  std::int64_t cells = rows.slot_cells, streams = rows.unified ? 1 : rows.sequences;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (!spec.attention || (spec.attention->window_tokens > 0) != windows) continue;
    const AttentionGeometry& attention = *spec.attention;
    const std::int64_t count = std::ssize(spec.layers), ids = plan.arena_of(group).num_ids;
    const std::int64_t element = attention.cells ? 1 : element_bytes(attention.dtype);
    const std::int64_t key = attention.kv_heads * attention.head_size_k * element;
    layers += count;
    keys += count * ids * key;
    values += count * ids * (spec.bytes_per_token - key);
    cells = ids / streams;
  }
  return {{"mib", mib(keys + values)}, {"cells", cells},     {"layers", layers},     {"seqs", rows.sequences},
          {"streams", streams},        {"k_mib", mib(keys)}, {"v_mib", mib(values)}};
}

json rows_of_context(const CachePlan& plan, std::int64_t model_layers) {
  std::int64_t conv = 0, recurrent = 0;
  for (const GroupPlan& group : plan.groups) {
    if (!group.tensor) continue;
    const std::int64_t bytes =
        plan.arena_of(group).num_ids * static_cast<std::int64_t>(group.pages.size()) * plan.content_bytes(group);
    (plan.tensors_of(group).front().name.starts_with("conv") ? conv : recurrent) += bytes;
  }
  return {{"mib", mib(conv + recurrent)}, {"cells", plan.rows->sequences},   {"n_layer", model_layers},
          {"rs_seq", plan.rows->rows_per_sequence - 1}, {"r_mib", mib(conv)}, {"s_mib", mib(recurrent)}};
}

json answer_of(const CachePlan& plan, const ModelSpec& model) {
  const SequenceRows& rows = *plan.rows;
  json caches = json::array({cache_of(plan, false)});
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention && spec.attention->window_tokens > 0) caches.push_back(cache_of(plan, true));
  const json states = rows_of_context(plan, std::ssize(model.layers));
  return {{"n_ctx", rows.cells},
          {"n_ctx_seq", rows.slot_cells},
          {"n_batch", rows.batch_tokens},
          {"n_ubatch", rows.step_tokens},
          {"n_seq_max", rows.sequences},
          {"n_rs_seq", rows.rows_per_sequence - 1},
          {"context_bytes", plan.pool_bytes()},
          {"kv", caches},
          {"rs", json::array({states})},
          {"rs_buffer_mib", states["mib"]}};
}

}  // namespace

TEST_CASE("golden: cells, rows and refusals of 184 contexts of llama.cpp b11312") {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  std::ifstream file(folder ? std::string(folder) + "/llama.cpp/sizes.jsonl"
                            : std::string(HYBRIDKV_TEST_DATA "/llama.cpp/sizes.jsonl"));
  REQUIRE(file.is_open());
  std::size_t rows = 0, refused = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const json row = json::parse(line);
    const std::string text = scenario_of_context(row);
    CAPTURE(text);
    const Scenario scenario = read_text_as_scenario(text);
    if (row["out"].contains("error")) {
      ++refused;
      CHECK_THROWS_AS(make_plan(scenario.model, scenario.engine, scenario.limits), SpecError);
      continue;
    }
    CHECK(answer_of(make_plan(scenario.model, scenario.engine, scenario.limits), scenario.model) == row["out"]);
  }
  CHECK(rows >= 184);
  MESSAGE(fmt::format("{} contexts, {} of them refused", rows, refused));
}
