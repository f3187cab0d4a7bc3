#include "scenarios/model_name.h"

#include <doctest/doctest.h>

#include <map>

#include "scenario_text.h"
#include "scenarios/model_library.h"

namespace hybridkv::test {

TEST_CASE("golden: published names are taken apart into base, variant and type of the weights") {
  const struct {
    const char* name;
    const char* base;
    const char* variant;
    const char* quantised;
    bool kv_quantised;
  } rows[] = {
      {"Qwen/Qwen3.5-4B", "Qwen3.5-4B", "", "", false},
      {"Qwen3.5-4B-FP8", "Qwen3.5-4B", "", "FP8", false},
      {"org/Qwen3-Next-80B-A3B-Thinking-FP8", "Qwen3-Next-80B-A3B", "Thinking", "FP8", false},
      {"Qwen3.5-27B-Instruct-2507", "Qwen3.5-27B", "Instruct-2507", "", false},
      {"Qwen3.5-35B-A3B-GPTQ-Int4", "Qwen3.5-35B-A3B", "", "GPTQ-Int4", false},
      {"Falcon-H1-34B-Instruct-quantized.w8a8", "Falcon-H1-34B", "Instruct", "quantized.w8a8", false},
      {"granite-4.0-h-small-Q4_K_M", "granite-4.0-h-small", "", "Q4_K_M", false},
      {"Jamba-1.5-mini-bnb-4bit", "Jamba-1.5-mini", "", "bnb-4bit", false},
      {"Qwen3.5-9B-FP8-KV", "Qwen3.5-9B", "", "FP8", true},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "NVIDIA-Nemotron-3-Nano-30B-A3B", "BF16", "", false},
      // A number of billions, a version and a size are no suffixes.
      {"Nemotron-Nano-9B-v2", "Nemotron-Nano-9B-v2", "", "", false},
      {"Nemotron-H-8B-Base-8K", "Nemotron-H-8B-Base-8K", "", "", false},
      {"granite-4.0-h-1b", "granite-4.0-h-1b", "", "", false},
      {"FP8", "FP8", "", "", false},
      {"-FP8", "-FP8", "", "", false},
      {"", "", "", "", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const PublishedName parts = split_published_name(row.name);
    CHECK(parts.base == row.base);
    CHECK(parts.variant == row.variant);
    CHECK(parts.quantised == row.quantised);
    CHECK(parts.kv_quantised == row.kv_quantised);
  }
}

TEST_CASE("law: every shipped name is found with organisation, case and suffixes, and leads to its own model") {
  for (const ShippedModel& shipped : shipped_models()) {
    CAPTURE(shipped.model.name);
    for (const char* suffix : {"", "-FP8", "-Instruct", "-Thinking-2507-AWQ", "-INT4", "-it-GGUF"}) {
      const ShippedModel* const found = find_shipped_model("Some-Org/" + shipped.model.name + suffix);
      REQUIRE(found != nullptr);
      CHECK(found->model.name == shipped.model.name);
    }
  }
}

TEST_CASE("edge: no two shipped models are the same name but for suffixes") {
  std::map<std::string, const ShippedModel*> bases;
  for (const ShippedModel& shipped : shipped_models()) {
    const std::string base = split_published_name(shipped.model.name).base;
    CAPTURE(base);
    CHECK(bases.emplace(base, &shipped).second);
  }
}

TEST_CASE("edge: another size is another model, with the nearest ones named") {
  CHECK(find_shipped_model("Qwen3.5-6B-FP8") == nullptr);
  CHECK(find_shipped_model("granite-4.0-h-tiny") == nullptr);
  CHECK(shipped_model_suggestion("Qwen/Qwen3.5-397B-FP8").find("Qwen3.5-397B-A17B") != std::string::npos);
}

TEST_CASE("edge: a type of the weights leaves the KV cache as it is, and that is said") {
  const auto read = [](const std::string& model) {
    return read_text_as_scenario("model: " + model + "\nengine: {memory: 40G}\nlimits: {max_model_len: 32k}\n");
  };
  const Scenario plain = read("Qwen3.5-4B");
  CHECK(plain.notes.empty());
  CHECK(read("qwen/QWEN3.5-4b").notes.empty());
  const Scenario quantised = read("Qwen/Qwen3.5-4B-Instruct-FP8");
  CHECK(quantised.model == plain.model);
  CHECK(quantised.engine == plain.engine);
  REQUIRE(quantised.notes.size() == 1);
  CHECK(quantised.notes[0] ==
        "Qwen3.5-4B-Instruct-FP8 is planned with the layers of Qwen3.5-4B; FP8 is taken for the weights alone: K and V "
        "are kept in bf16 unless --kv-dtype is given");
  CHECK(read("Qwen3.6-27B-Thinking").notes == std::vector<std::string>{
        "Qwen3.6-27B-Thinking is planned with the layers of Qwen3.6-27B"});
  CHECK(read("Qwen3.5-4B-FP8-KV").notes[0].find("although the name says KV: --kv-dtype fp8") != std::string::npos);
}

}  // namespace hybridkv::test
