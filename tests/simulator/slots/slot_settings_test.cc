// The settings of a server, as the rows of a plan have them.
#include "simulator/slots/slot_settings.h"

#include <doctest/doctest.h>

#include "engines/llama_cpp/rules.h"
#include "planner/plan.h"
#include "planner/row_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;

TEST_CASE("golden: the share of a prompt that a slot must hold is what the plan has in percent, a tenth unless set") {
  EngineSpec engine{.cache_mode = CacheMode::align, .memory_bytes = 60 * testing::gib};
  engine.rules = &rules_of_llama_cpp;
  engine.strategy = rules_of_llama_cpp.strategy;
  const auto similarity = [&] {
    return slot_settings_of(make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32768}})).least_similarity;
  };
  CHECK(similarity() == 0.1f);
  engine.own.set(row_key::slot_prompt_similarity_percent, 25);
  CHECK(similarity() == 0.25f);
}
