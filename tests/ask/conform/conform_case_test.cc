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

bool is_told_of(const char* model, const Conformance& conformance) {
  return can_be_told(find_shipped_model(model)->model, conformance);
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

TEST_CASE("rule: every driver is told of full attention, windows and latents, and one that knows them of chunks") {
  for (const char* model : {"Qwen3-8B", "gpt-oss-20b", "DeepSeek-V3"}) {
    CAPTURE(model);
    CHECK(is_told_of(model, {}));
  }
  CHECK_FALSE(is_told_of("Llama-4-Scout-17B-16E", {}));
  CHECK(is_told_of("Llama-4-Scout-17B-16E", {.tells_chunks_and_encoders = true}));
}

TEST_CASE("rule: a driver that is told of no indexers is not told of rings and orders of the model either") {
  CHECK_FALSE(is_told_of("DeepSeek-V3.2", {}));  // an indexer in each layer, and nothing else
  const ModelSpec& plain = find_shipped_model("Qwen3-8B")->model;
  ModelSpec ring = plain, ordered = plain;
  ring.ring_tokens = 4;
  ordered.cache_orders = {CacheOrder::lbnhc};
  CHECK_FALSE(can_be_told(ring, {}));
  CHECK_FALSE(can_be_told(ordered, {}));
  // One that is told the indexer of each layer is told such orders too.
  CHECK(can_be_told(ordered, {.tells_indexers = ToldIndexers::of_layers}));
}
