// The cases that an engine is asked: what each is called, and which of them have prompts.
#include "ask/conform/conform_case.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engines/llama_cpp/engine.h"
#include "engines/vllm/engine.h"
#include "scenarios/model_library.h"

using namespace hybridkv;

namespace {

constexpr std::int64_t random_of_a_grid = 6;

/// The cases of random settings, which stand behind those of the grid.
std::vector<ConformCase> random_cases(const Engine& engine) {
  const std::vector<ConformCase> all = conform_cases(
      engine, {.models = {find_shipped_model("Qwen3.5-0.8B")->model}, .random = random_of_a_grid, .seed = 1});
  return {all.end() - random_of_a_grid, all.end()};
}

}  // namespace

TEST_CASE("golden: a case is called by its model, ranks, mode, what sets it apart, its step, memory and length") {
  ConformCase one = conform_cases(vllm_0_33, {.models = {find_shipped_model("Qwen3.5-0.8B")->model}}).front();
  CHECK(one.words() == "Qwen3.5-0.8B, TP 1, align, sm90, steps of 8192, 42949672960 bytes, 32768 tokens");
  one.engine.num_blocks = 7;
  one.engine.max_num_batched_tokens = 2048;
  CHECK(one.words() == "Qwen3.5-0.8B, TP 1, align, sm90, 7 blocks, steps of 2048, 42949672960 bytes, 32768 tokens");
}

TEST_CASE("rule: an engine that computes its prompts is given them in every second random case, by a few layers") {
  std::int64_t number = 0;
  for (const ConformCase& one : random_cases(llama_cpp)) {
    CAPTURE(number);
    const bool is_computed = number++ % 2 == 1;
    // Three layers with states come before the first with K and V.
    CHECK(one.model.name == (is_computed ? "Qwen3.5-0.8B, first 4 layers" : "Qwen3.5-0.8B"));
    CHECK(one.prompts.empty() != is_computed);
  }
}

TEST_CASE("rule: an engine whose prompts are only looked up has them in every random case, by the whole model") {
  for (const ConformCase& one : random_cases(vllm_0_33)) {
    CHECK(one.model.name == "Qwen3.5-0.8B");
    CHECK_FALSE(one.prompts.empty());
  }
}
