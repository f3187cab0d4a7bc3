// The split of memory between token slots and state slots, against SGLang 0.5.23's own classes.
#include "planner/token_state_split.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "planner/replay_ring.h"
#include "tests/planner/models.h"
#include "test_paths.h"

using namespace hybridkv;
using nlohmann::json;

namespace {

constexpr std::int64_t context_tokens = 262'144;

template <class T>
std::optional<T> given(const json& row, const char* key) {
  return row.at(key).is_null() ? std::nullopt : std::optional<T>(row.at(key).get<T>());
}

StateSlotHolding holding_of(const json& row) {
  return {.radix_cache = row.at("radix"),
          .strategy = parse_tree_strategy(given<std::string>(row, "strategy").value_or("no_buffer")).value(),
          .overlap_schedule = row.at("overlap"),
          .skip_decode_lock = row.at("skip_decode_lock")};
}

/// The layers whose rings the records have; Nemotron-H has none, as its layers are mamba2.
std::optional<ReplayRing> ring_of(const json& row) {
  if (!row.at("replayssm_spec").get<bool>() || row.at("model") != "Qwen3.5-27B") return std::nullopt;
  return replay_ring(testing::qwen_gdn(16, 48), 48, {.tensor_parallel = row.at("tp")});
}

SplitInputs inputs_of(const json& row) {
  return {.memory_gib = row.at("mem_gib"),
          .state_slot_bytes = row.at("slot_bytes"),
          .token_bytes = row.at("cell_bytes_per_token"),
          .page_tokens = row.at("page_size"),
          .state_slots_per_request = state_slots_per_request(holding_of(row)),
          .full_memory_ratio = row.at("mamba_full_memory_ratio"),
          .max_mamba_cache_size = given<std::int64_t>(row, "max_mamba_cache_size"),
          .max_running_requests = given<std::int64_t>(row, "max_running_requests"),
          .max_total_tokens = given<std::int64_t>(row, "max_total_tokens"),
          .attention_data_parallel = row.at("attn_dp"),
          .radix_cache = row.at("radix"),
          .draft_tokens = row.at("spec").is_null() ? 0 : row.at("draft_tokens").get<std::int64_t>(),
          .replay = ring_of(row),
          .context_tokens = context_tokens};
}

/// 40 GiB of Qwen3.5-397B at TP2, as the engine splits them without any flag.
SplitInputs qwen_397b() {
  return {.memory_gib = 40, .state_slot_bytes = 96'030'720, .token_bytes = 15'360, .state_slots_per_request = 5,
          .context_tokens = context_tokens};
}

std::string refused_path(const SplitInputs& inputs) {
  try {
    split_memory(inputs);
  } catch (const SpecError& refusal) {
    return refusal.path();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("golden: state slots, token slots and running requests of 125 configurations of SGLang 0.5.23") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/pools_sglang_0_5_23.jsonl");
  REQUIRE(file.is_open());
  std::size_t rows = 0, elastic = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    CAPTURE(line);
    const json row = json::parse(line);
    const SplitInputs inputs = inputs_of(row);
    if (row.contains("error")) {
      CHECK_THROWS_AS(split_memory(inputs), SpecError);
      continue;
    }
    const TokenStateSplit split = split_memory(inputs);
    CHECK(split.state_slots_per_request == row.at("slots_per_request").get<std::int64_t>());
    CHECK(split.state_slots == row.at("state_slots").get<std::int64_t>());
    CHECK(split.token_slots == row.at("token_slots").get<std::int64_t>());
    CHECK(split.max_running == row.at("max_running").get<std::int64_t>());
    if (!row.at("unified_memory").get<bool>()) continue;
    ++elastic;
    CHECK(unified_pool(inputs, split).token_part_bytes == row.at("unified_total_bytes").get<std::int64_t>());
  }
  CHECK(rows == 125);
  CHECK(elastic == 10);
}

TEST_CASE("golden: default splits, best ratios and idle bytes of the worked numbers") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/worked_numbers_sglang_0_5_23.json");
  REQUIRE(file.is_open());
  const json rows = json::parse(file);
  REQUIRE(rows.size() == 9);
  const auto rounded = [](double value, int digits) { return std::round(value * std::pow(10, digits)); };
  for (const json& row : rows) {
    const TreeStrategy strategy = parse_tree_strategy(row["strategy"].get<std::string>()).value();
    SplitInputs inputs{.memory_gib = 40, .state_slot_bytes = row["slot_bytes"], .token_bytes = row["cell"],
                       .state_slots_per_request = state_slots_per_request({.strategy = strategy}),
                       .context_tokens = context_tokens};
    const TokenStateSplit split = split_memory(inputs);
    CHECK(split.state_slots_per_request == row["S"].get<std::int64_t>());
    CHECK(rounded(static_cast<double>(inputs.state_slot_bytes) / static_cast<double>(inputs.token_bytes), 2) ==
          rounded(row["slot_in_tokens"], 2));
    CHECK(split.state_slots == row["default_slots"].get<std::int64_t>());
    CHECK(split.token_slots == row["default_tokens"].get<std::int64_t>());
    CHECK(split.max_running == row["max_running"].get<std::int64_t>());
    for (const std::int64_t tokens : {std::int64_t{2'048}, std::int64_t{32'768}}) {
      const json& at = row["L" + std::to_string(tokens)];
      CAPTURE(at.dump());
      const std::optional<RatioAdvice> advice = advise_ratio(inputs, split, tokens);
      REQUIRE(advice.has_value());
      CHECK(split.state_slots / split.state_slots_per_request == at["by_slots"].get<std::int64_t>());
      CHECK(split.token_slots / tokens == at["by_tokens"].get<std::int64_t>());
      CHECK(advice->running_now == at["default"].get<std::int64_t>());
      CHECK(rounded(advice->balanced_ratio, 4) == rounded(at["r_star"], 4));
      CHECK(rounded(advice->best_ratio, 4) == rounded(at["best_ratio"], 4));
      CHECK(advice->running_best == at["best"].get<std::int64_t>());
      CHECK(advice->best.state_slots == at["best_slots"].get<std::int64_t>());
      CHECK(advice->best.token_slots == at["best_tokens"].get<std::int64_t>());
      CHECK(advice->best.max_running == at["sglang_max_running"].get<std::int64_t>());
      CHECK(rounded(advice->idle_percent, 1) == rounded(at["idle_bytes_default_pct"], 1));
    }
  }
}

TEST_CASE("golden: speculation and ReplaySSM as the notes have them") {
  SplitInputs inputs = qwen_397b();
  inputs.token_bytes = 16'384;
  inputs.draft_tokens = 4;
  inputs.max_running_requests = 48;
  const TokenStateSplit states = split_memory(inputs);
  CHECK(states.state_slots == 114);
  CHECK(states.token_slots == 1'408'161);
  CHECK(states.max_running == 22);
  CHECK(states.draft_state_bytes == inputs.state_slot_bytes * 23 * 4);
  inputs.replay = replay_ring(testing::qwen_gdn(16, 64), 45, {.tensor_parallel = 2});
  const TokenStateSplit replayed = split_memory(inputs);
  CHECK(replayed.state_slots == 203);
  CHECK(replayed.token_slots == 1'381'369);
  CHECK(replayed.max_running == 40);
  CHECK(replayed.draft_state_bytes == 0);
  CHECK(replayed.ring_bytes == inputs.replay->row_bytes * 49);
}

TEST_CASE("law: a ring in the slots is charged with every slot, the dummy too") {
  const KdaSpec kda{.heads = 32, .head_dim = 128};
  const std::optional<ReplayRing> ring = replay_ring(kda, 20, {.tensor_parallel = 2});
  REQUIRE(ring.has_value());
  CHECK(ring->in_state_slots);
  CHECK(ring->row_bytes == 20 * 16 * (16 * 128 * (4 * 2 + 4) + 16 * 4));
  SplitInputs inputs{.memory_gib = 40, .state_slot_bytes = 21'708'800, .token_bytes = 8'064,
                     .state_slots_per_request = 5, .max_running_requests = 64, .draft_tokens = 4, .replay = ring,
                     .context_tokens = context_tokens};
  const TokenStateSplit split = split_memory(inputs);
  CHECK(split.ring_bytes == (split.state_slots + 1) * ring->row_bytes);
  SplitInputs wider = inputs;
  wider.replay.reset();
  wider.state_slot_bytes += ring->row_bytes;
  wider.draft_tokens = 0;
  CHECK(split.state_slots == split_memory(wider).state_slots);
  CHECK(!replay_ring(Mamba2Spec{.heads = 64, .head_dim = 64, .state_size = 128}, 23, {}).has_value());
}

TEST_CASE("edge: attention ranks share explicit slots and requests, not a ratio") {
  SplitInputs inputs = qwen_397b();
  inputs.attention_data_parallel = 4;
  CHECK(split_memory(inputs).state_slots == 210);
  inputs.max_running_requests = 30;
  CHECK(split_memory(inputs).max_running == 7);
  inputs.max_mamba_cache_size = 803;
  CHECK(split_memory(inputs).state_slots == 200);
  inputs.max_mamba_cache_size.reset();
  inputs.radix_cache = false;
  inputs.state_slots_per_request = 1;
  CHECK(split_memory(inputs).state_slots == 7);
  CHECK(split_memory(inputs).by == StateSlotCount::requests);
}

TEST_CASE("edge: what the engine refuses to start with") {
  SplitInputs inputs = qwen_397b();
  inputs.memory_gib = 0.1;
  CHECK(refused_path(inputs) == "engine.memory");  // no slot
  inputs = qwen_397b();
  inputs.max_mamba_cache_size = 447;
  CHECK(refused_path(inputs) == "engine.memory");  // 448 slots are 40.07 GiB
  inputs.max_mamba_cache_size = 446;
  CHECK(refused_path(inputs) == "accepted");
  inputs.max_mamba_cache_size = 4;
  CHECK(refused_path(inputs) == "engine.memory");  // a request takes 5
  inputs = qwen_397b();
  inputs.radix_cache = false;
  inputs.state_slots_per_request = 1;
  inputs.max_running_requests = 1;  // a single slot is enough where nothing is kept for others
  CHECK(refused_path(inputs) == "accepted");
  inputs = qwen_397b();
  inputs.draft_tokens = 4;
  CHECK(refused_path(inputs) == "engine.max_running_requests");
  CHECK_THROWS_AS(state_slots_per_request({.strategy = TreeStrategy::extra_buffer_lazy, .overlap_schedule = false}),
                  SpecError);
}

TEST_CASE("edge: a cap leaves tokens unused, in whole pages, and splits nothing anew") {
  SplitInputs inputs = qwen_397b();
  inputs.page_tokens = 64;
  inputs.max_total_tokens = 100'001;
  const TokenStateSplit split = split_memory(inputs);
  CHECK(split.token_slots == 99'968);
  CHECK(split.state_slots == 210);
  inputs.max_total_tokens = 100'000'000;
  CHECK(split_memory(inputs).token_slots == 1'476'992);
}

TEST_CASE("law: the best ratio lets no fewer requests run than any other") {
  for (const std::int64_t drafts : {0, 4}) {
    for (const std::int64_t tokens : {std::int64_t{500}, std::int64_t{7'000}, std::int64_t{200'000}}) {
      SplitInputs inputs = qwen_397b();
      inputs.page_tokens = 16;
      inputs.draft_tokens = drafts;
      if (drafts > 0) inputs.max_running_requests = 4'000;
      const std::optional<RatioAdvice> advice = advise_ratio(inputs, split_memory(inputs), tokens);
      REQUIRE(advice.has_value());
      for (const double ratio : {0.02, 0.1, 0.5, 0.9, 2.0, 7.0, 20.0, 90.0}) {
        inputs.full_memory_ratio = ratio;
        if (refused_path(inputs) != "accepted") continue;  // no request runs at all
        CHECK(split_memory(inputs).requests_at(tokens, 16) <= advice->running_best);
      }
    }
  }
}

TEST_CASE("edge: where no ratio lets more than one request run one is still advised, where none runs nothing is") {
  SplitInputs inputs = qwen_397b();
  const std::optional<RatioAdvice> one = advise_ratio(inputs, split_memory(inputs), 2'000'000);
  REQUIRE(one.has_value());
  CHECK(one->running_best == 1);
  CHECK_FALSE(advise_ratio(inputs, split_memory(inputs), 20'000'000).has_value());
}

TEST_CASE("law: an elastic buffer holds the slots of either kind alone, but for what lies in front of the first") {
  const SplitInputs inputs = qwen_397b();
  const TokenStateSplit split = split_memory(inputs);
  const UnifiedPool pool = unified_pool(inputs, split);
  CHECK(pool.state_in_tokens == 6'252);
  CHECK(pool.total_bytes == pool.token_part_bytes + 210 * inputs.state_slot_bytes);
  CHECK(pool.largest_states == pool.total_bytes / inputs.state_slot_bytes - 1);
  CHECK(pool.largest_tokens == pool.total_bytes / inputs.token_bytes - 6'252);
}
