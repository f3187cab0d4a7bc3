// Settings of measured runs: which recipe a run takes, and what it sets.
#include "ask/clock/recipe.h"

#include <doctest/doctest.h>

#include "engines/tensorrt_llm/engine.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;

namespace {

const std::vector<Recipe>& published() {
  static const std::vector<Recipe> recipes = read_recipes(HYBRIDKV_TEST_DATA "/clock/recipes.csv");
  return recipes;
}

/// A run of TensorRT-LLM on eight GPUs.
MeasuredRow run_of(const std::string& model, const std::string& weights, std::int64_t concurrency) {
  MeasuredRow row{.engine = &tensorrt_llm, .model = model, .gpu = "B200", .weights = weights};
  row.run.split = {8, 8};
  row.run.test = {.input_tokens = 1024, .output_tokens = 1024, .concurrency = concurrency};
  return row;
}

LoopRules rules_of(const MeasuredRow& row) {
  const Recipe* recipe = recipe_of(published(), row, false);
  REQUIRE(recipe != nullptr);
  LoopRules rules = row.run.rules;
  recipe->apply(row.run.test, rules);
  return rules;
}

}  // namespace

TEST_CASE("golden: steps of DeepSeek had room for one prompt until January 2026, then for 8,192 tokens") {
  MeasuredRow row = run_of("DeepSeek-R1", "nvfp4 experts, attention bf16", 256);
  row.measured = "2026-01-28";
  CHECK(rules_of(row).budget == 256 + 1024 + 64);
  CHECK(rules_of(row).whole_prompts);
  row.measured = "2026-01-29";
  CHECK(rules_of(row).budget == 8192);
  row.measured.clear();  // nobody knows when: as today
  CHECK(rules_of(row).budget == 8192);
}

TEST_CASE("golden: prompts of short runs waited for company on fewer than eight GPUs, and at 64 clients") {
  MeasuredRow llama = run_of("Llama-3.1-70B", "fp8", 4);
  CHECK(rules_of(llama).wait_steps == 0);
  llama.run.split = {4, 4};
  CHECK(rules_of(llama).wait_steps == 20);
  CHECK(rules_of(llama).wait_share == 0.9);
  llama.run.test.output_tokens = 8192;
  CHECK(rules_of(llama).wait_steps == 0);
  CHECK(rules_of(run_of("DeepSeek-R1", "fp8 128x128 blocks", 63)).wait_steps == 0);
  CHECK(rules_of(run_of("DeepSeek-R1", "fp8 128x128 blocks", 64)).wait_steps == 40);
}

TEST_CASE("edge: a file of recipes without the columns that may be missing") {
  const testing::ScratchFolder folder;
  const std::string file = folder.file(
      "recipes.csv",
      "engine,model,gpu,weights,tensor_parallel,below_concurrency,budget,budget_inputs,budget_burst,poll_steps,"
      "most_running,drafts,least_data_parallel\ntensorrt-llm,,,,4,16,9000,,,,7,,\ntensorrt-llm,,,,,,,2,,3,,,\n");
  const std::vector<Recipe> recipes = read_recipes(file);
  REQUIRE(recipes.size() == 2);
  MeasuredRow row = run_of("Llama-3.1-70B", "fp8", 15);
  row.run.split = {4, 4};
  CHECK(recipe_of(recipes, row, false) == &recipes[0]);
  row.run.test.concurrency = 16;
  CHECK(recipe_of(recipes, row, false) == &recipes[1]);
  LoopRules rules;
  recipes[0].apply(row.run.test, rules);
  CHECK(rules == LoopRules{.budget = 9000, .most_running = 7});
  recipes[1].apply(row.run.test, rules);
  CHECK(rules == LoopRules{.budget = 2048, .poll_steps = 3, .most_running = 7});
}
