#include "planner/match_units.h"

#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("edge: hits are no finer than the blocks of windows, which are looked up whole") {
  EngineSpec engine{.cache_mode = CacheMode::align, .memory_bytes = 20 * gib};
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm90;
  engine.prefix_match_unit_tokens = 16;
  ModelSpec model = qwen_hybrid("windows", 8, full_attention(2, 64), qwen_gdn(4, 8));
  const CachePlan plain = make_plan(model, engine, {.max_model_lens = {4096}});
  CHECK(match_units(plain, engine).fine);
  CHECK(match_units(plain, engine).hit() == 16);
  for (LayerSpec& layer : model.layers)
    if (layer.attention) {
      layer.attention->kind = AttentionKind::sliding_window;
      layer.attention->window_tokens = 512;
      break;
    }
  const CachePlan windowed = make_plan(model, engine, {.max_model_lens = {4096}});
  REQUIRE(windowed.specs.size() == 3);
  const MatchUnits units = match_units(windowed, engine);
  CHECK(units.hash_block == 16);
  CHECK_FALSE(units.fine);
  CHECK(units.hit() == units.scheduler_block);
}
