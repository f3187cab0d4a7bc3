// The table of worked numbers of vLLM 0.33: models x profiles x orders at 40 GiB and 32,768 tokens, row by row.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

#include "engines/vllm/rules.h"
#include "planner/allocated_tensors.h"
#include "planner/plan.h"
#include "planner/primary_attention.h"
#include "tests/planner/models.h"
#include "test_paths.h"

using namespace hybridkv;

namespace {

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + separator.size();
  }
  return parts;
}

std::int64_t whole_number(std::string text) {
  std::erase(text, ',');
  return std::stoll(text);
}

/// The cells of every row of the table with so many columns.
std::vector<std::vector<std::string>> worked_rows(std::size_t columns) {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/worked_numbers_vllm_0_33.md");
  REQUIRE(file.is_open());
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| ") || line.starts_with("| profile")) continue;
    std::vector<std::string> cells = split_at(line, "|");
    if (cells.size() == columns + 2) rows.emplace_back(cells.begin() + 1, cells.end() - 1);
  }
  return rows;
}

/// Layers with a window, but for every n-th.
ModelSpec windowed_model(std::int64_t layers, std::int64_t n, const AttentionSpec& attention, std::int64_t window) {
  ModelSpec model;
  for (std::int64_t i = 0; i < layers; ++i) {
    AttentionSpec layer = attention;
    if (i % n != n - 1) layer.kind = AttentionKind::sliding_window, layer.window_tokens = window;
    model.layers.push_back({layer, std::nullopt});
  }
  return model;
}

ModelSpec model_of_row(const std::string& name) {
  if (name.starts_with("Qwen3.5-397B")) return testing::qwen35_397b();
  if (name == "Nemotron-3-Nano-30B-A3B") return testing::nemotron_nano_30b();
  if (name == "granite-4.0-h-small") return testing::granite_h_small();
  if (name == "gpt-oss-20b") return windowed_model(24, 2, testing::full_attention(8, 64), 128);
  if (name == "gemma-3-27b") return windowed_model(62, 6, testing::full_attention(16, 128), 1024);
  REQUIRE(name == "Kimi-Linear-48B-A3B");
  return testing::hybrid_model(name, 27, testing::latent_attention(512, 64), KdaSpec{.heads = 32, .head_dim = 128},
                               [](std::int64_t i) { return i % 4 == 3 || i == 26; });
}

/// "sm90 MTP", "sm80/sm90", "in_flight=8192": which backends, and what else is set.
EngineSpec engine_of_row(const std::vector<std::string>& row) {
  const std::string &profile = row[0], &model = row[1];
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.tensor_parallel = whole_number(row[2]);
  engine.cache_mode = *parse_cache_mode(row[3]);
  engine.memory_bytes = 40 * testing::gib;
  engine.ssm_dtype = model.starts_with("granite") ? DType::bf16 : DType::fp32;
  engine.backend_profile = profile.starts_with("sm90+FlashInfer") ? BackendProfile::sm90_flashinfer
                           : profile.starts_with("sm100+FA4")     ? BackendProfile::sm100_fa4
                           : profile.starts_with("sm100")         ? BackendProfile::sm100_flashinfer
                           : profile.starts_with("sm80")          ? BackendProfile::sm80
                                                                  : BackendProfile::sm90;
  if (profile.find("fp8") != std::string::npos) engine.kv_dtype = parse_dtype("fp8");
  if (profile.find("ub256") != std::string::npos) engine.block_size_tokens = 256;
  if (profile.find("unit64") != std::string::npos) engine.prefix_match_unit_tokens = 64;
  if (const auto at = profile.find("in_flight="); at != std::string::npos) {
    engine.max_num_batched_tokens = std::stoll(profile.substr(at + 10));
    engine.concurrent_batches = 1;
  }
  if (const auto at = model.find("s="); at != std::string::npos)
    engine.speculative_tokens = std::stoll(model.substr(at + 2));
  if (profile.find("MTP") != std::string::npos) engine.mtp_layers = 1;
  if (const auto at = model.find("('"); at != std::string::npos) {
    const auto parts = split_at(model.substr(at + 1, model.find(')') - at - 1), ",");
    AttentionSpec attention = testing::full_attention(std::stoll(parts[1]), std::stoll(parts[2]));
    if (parts[0] == "'swa'") {
      attention.kind = AttentionKind::sliding_window;
      attention.window_tokens = std::stoll(parts[4]);
    }
    engine.draft = DraftSpec{std::stoll(parts[3]), attention};
  }
  return engine;
}

void check_row(const std::vector<std::string>& row, const CachePlan& plan, bool first_order) {
  const CapacityPlan& capacity = plan.capacity.front();
  std::set<std::string> blocks;
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention) blocks.insert(std::to_string(spec.kernel_block_size_tokens));
  bool has_state = false, has_block = false;
  for (const SpecPlan& spec : plan.specs) {
    has_block = has_block || spec.block_size_tokens == whole_number(row[5]);
    if (spec.state && !has_state) {
      // What is printed is the padding to the model's own page; a draft with larger pages pads more later.
      const std::int64_t own = whole_number(row[5]) * primary_attention(plan)->bytes_per_token;
      CHECK(own == whole_number(row[6]));
      CHECK(fmt::format("{:.2f}", 100.0 * static_cast<double>(own - spec.state->bytes) /
                                      static_cast<double>(spec.state->bytes)) == row[7]);
      has_state = true;
    }
  }
  CHECK(has_block);
  CHECK(plan.arenas.front().bytes_per_id == whole_number(row[9]));
  CHECK(plan.num_blocks() == whole_number(row[10]));
  CHECK(capacity.blocks_per_request == whole_number(row[11]));
  CHECK(fmt::format("{:.4f}", capacity.max_concurrency) == row[12]);
  CHECK(capacity.kv_cache_tokens == whole_number(row[13]));
  for (const std::string& size : split_at(row[14], ",")) CHECK(blocks.contains(size));
  CHECK((plan.view_error.empty() ? "ok" : "refused") == row[15]);
  if (!first_order) return;  // the strides are those of the first order named
  const std::vector<std::string> strides = split_at(row[16], "/");
  bool found = false;
  for (const AllocatedTensor& tensor : allocated_tensors(plan))
    found = found || (tensor.layer_stride == whole_number(strides[0]) &&
                      tensor.block_stride == whole_number(strides[1]));
  CHECK(found);
}

}  // namespace

TEST_CASE("golden: every row of the worked numbers of vLLM 0.33, in every order it names") {
  std::size_t rows = 0, plans = 0;
  for (const std::vector<std::string>& row : worked_rows(17)) {
    ++rows;
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    CAPTURE(row[3]);
    bool first = true;
    for (const std::string& order : split_at(row[4], ",")) {
      CAPTURE(order);
      EngineSpec engine = engine_of_row(row);
      engine.cache_order = parse_cache_order(order);
      REQUIRE(engine.cache_order.has_value());
      check_row(row, make_plan(model_of_row(row[1]), engine, {.max_model_lens = {32'768}}), first);
      first = false;
      ++plans;
    }
  }
  CHECK(rows == 43);
  CHECK(plans > 70);
}

TEST_CASE("golden: orders that the worked numbers call refused are refused") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/worked_numbers_vllm_0_33.md");
  std::size_t refused = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("- ") || line.find(": ") == std::string::npos) continue;
    const auto colon = line.find(": ");
    const std::vector<std::string> what = split_at(line.substr(2, colon - 2), ", ");
    if (what.size() != 3) continue;
    CAPTURE(line);
    for (const std::string& order : split_at(line.substr(colon + 2), ",")) {
      EngineSpec engine = engine_of_row({what[0], what[1], "1", what[2]});
      engine.tensor_parallel = what[1].starts_with("Qwen3.5-397B") ? 2 : 1;
      engine.cache_order = parse_cache_order(order);
      REQUIRE(engine.cache_order.has_value());
      CHECK_THROWS_AS(make_plan(model_of_row(what[1]), engine, {.max_model_lens = {32'768}}), SpecError);
      ++refused;
    }
  }
  CHECK(refused > 30);
}

TEST_CASE("golden: what the start-up log of 0.33 says, of five machines") {
  std::size_t rows = 0;
  for (const std::vector<std::string>& row : worked_rows(8)) {
    if (row[0] == "any, caching off") continue;  // rows of mode none above
    ++rows;
    CAPTURE(row[0]);
    EngineSpec engine = engine_of_row({row[0], "Qwen3.5-397B-A17B", "2", "align"});
    if (row[0].starts_with("sm100 FA4")) engine.backend_profile = BackendProfile::sm100_fa4;
    const CachePlan plan = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
    CHECK(plan.specs.front().block_size_tokens == std::stoll(row[1]));
    CHECK(fmt::format("{:.2f} %", plan.specs.front().padding_percent) == row[2]);
    CHECK(to_string(*plan.cache_order) == row[3]);
    CHECK(plan.prefix.scheduler_block_tokens == std::stoll(row[5]));
    CHECK(plan.capacity.front().kv_cache_tokens == whole_number(row[6]));
    CHECK(fmt::format("{:.2f}x", plan.capacity.front().max_concurrency) == row[7]);
  }
  CHECK(rows == 4);
}

TEST_CASE("golden: layers that padding of groups costs, as 0.33 warns") {
  const auto padding = [](const std::string& model) {
    const CachePlan plan = make_plan(model_of_row(model), engine_of_row({"sm90", model, "1", "align"}),
                                     {.max_model_lens = {32'768}});
    std::int64_t empty = 0;
    for (const GroupPlan& group : plan.groups) empty += group.padding_positions;
    const auto layers = std::ssize(plan.specs.front().layers);
    const double percent = 100.0 * static_cast<double>(empty) / static_cast<double>(layers);
    return fmt::format("{} of {}: {:.2f} %", empty, layers, percent);
  };
  CHECK(padding("Qwen3.5-397B-A17B") == "0 of 45: 0.00 %");
  CHECK(padding("Nemotron-3-Nano-30B-A3B") == "1 of 23: 4.35 %");
  CHECK(padding("Kimi-Linear-48B-A3B") == "1 of 20: 5.00 %");
  CHECK(padding("gemma-3-27b") == "8 of 52: 15.38 %");
}
