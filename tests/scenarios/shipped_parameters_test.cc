// Parameters of shipped models against the numbers that their publishers give.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "planner/weight_bytes.h"
#include "scenarios/model_library.h"

namespace hybridkv::test {

namespace {

/// Total in billions as published, towers included, drafts not.
struct PublishedTotal {
  const char* model;
  const char* billions;
};

const PublishedTotal published_totals[] = {
    {"Bamba-9B", "9.8"},          {"Falcon-H1-0.5B", "0.5"},       {"Falcon-H1-1.5B-Deep", "1.6"},
    {"Falcon-H1-34B", "33.6"},    {"Falcon-H1-3B", "3.1"},         {"Falcon-H1-7B", "7.6"},
    {"Gemma-3-27B", "27.4"},      {"Gemma-4-31B", "30.7"},         {"Jamba-1.5-mini", "51.6"},
    {"LFM2.5-1.2B", "1.2"},       {"Kimi-Linear-48B-A3B", "49.1"}, {"MiniMax-Text-01", "456.1"},
    {"Nemotron-H-8B", "8.1"},     {"Nemotron-3-Nano-4B", "4.0"},   {"Nemotron-3-Nano-30B-A3B", "31.6"},
    {"Nemotron-Nano-9B-v2", "8.9"}, {"Nemotron-Nano-12B-v2", "12.3"}, {"Olmo-Hybrid-7B", "7.4"},
    {"Qwen3-Next-80B-A3B", "79.7"}, {"Qwen3.5-27B", "27.4"},       {"Qwen3.5-397B-A17B", "396.8"},
    {"Qwen3.5-122B-A10B", "122.6"}, {"Qwen3.5-35B-A3B", "35.1"},   {"Zamba2-7B", "7.4"},
    {"gpt-oss-120b", "116.8"},    {"gpt-oss-20b", "20.9"},         {"granite-4.0-h-small", "32.2"},
    {"Falcon-H1-1.5B", "1.6"},    {"Falcon-Mamba-7B", "7.3"},      {"GLM-5.3-Flash", "313.8"},
    {"Kimi-K3", "2779.5"},        {"Mamba-Codestral-7B-v0.1", "7.3"}, {"MiniMax-M3", "427.0"},
    {"Nemotron-3-Super-120B-A12B", "120.7"}, {"Nemotron-3-Ultra-550B-A55B", "549.3"},
    {"Qwen3.8-2.4T-A95B", "2419.8"}, {"Qwen3.8-27B", "27.4"},      {"Qwen3.8-Flash-Next", "176.9"},
    {"RWKV-4-7B-pile", "7.4"},    {"plamo-2-1b", "1.3"},           {"xLSTM-7B", "6.9"},
    {"granite-4.0-h-1b", "1.5"},  {"granite-4.0-h-350m", "0.3"},
};

}  // namespace

TEST_CASE("golden: totals of shipped models as published") {
  for (const auto& [name, billions] : published_totals) {
    CAPTURE(name);
    const ShippedModel* shipped = find_shipped_model(name);
    REQUIRE(shipped != nullptr);
    REQUIRE(shipped->model.parameters.has_value());
    CHECK(fmt::format("{:.1f}", static_cast<double>(total_parameters(*shipped->model.parameters)) / 1e9) == billions);
  }
}

TEST_CASE("golden: parameters that one token takes, as published") {
  const std::pair<const char*, const char*> published_active[] = {
      {"Kimi-Linear-48B-A3B", "3.5"},       {"Nemotron-3-Super-120B-A12B", "12.8"},
      {"Qwen3.5-397B-A17B", "17.8"},        {"Nemotron-3-Ultra-550B-A55B", "56.1"},
      {"Qwen3.8-2.4T-A95B", "95.3"},        {"GLM-5.3-Flash", "17.8"},
      {"Qwen3.8-Flash-Next", "7.3"},  // 6 without tables of tokens; that of n-grams counts in neither
  };
  for (const auto& [name, billions] : published_active) {
    CAPTURE(name);
    const std::int64_t active = active_parameters(*find_shipped_model(name)->model.parameters);
    CHECK(fmt::format("{:.1f}", static_cast<double>(active) / 1e9) == billions);
  }
}

TEST_CASE("golden: models without attention have the parameters that their publishers count") {
  for (const auto& [name, total] : {std::pair("xLSTM-7B", 6'865'424'896), std::pair("Falcon-Mamba-7B", 7'272'665'088),
                                    std::pair("Mamba-Codestral-7B-v0.1", 7'285'403'648)})
    CHECK(total_parameters(*find_shipped_model(name)->model.parameters) == total);
}

TEST_CASE("law: parameters of a shipped model name its kinds, and active ones are fewer where there are experts") {
  for (const ShippedModel& shipped : shipped_models()) {
    CAPTURE(shipped.model.name);
    REQUIRE(shipped.model.parameters.has_value());
    const ModelParameters& parameters = *shipped.model.parameters;
    std::set<std::string> kinds;
    for (const KindParameters& kind : parameters.layers) CHECK(kinds.insert(kind.kind).second);
    CHECK((active_parameters(parameters) < total_parameters(parameters)) == (parameters.experts > 0));
    const std::int64_t whole = weight_bytes_per_rank(parameters, {}, DType::bf16);
    CHECK(weight_bytes_per_rank(parameters, {.tensor_parallel = 8}, DType::bf16) < whole / 4);
  }
}

}  // namespace hybridkv::test
