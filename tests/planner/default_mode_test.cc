#include "planner/default_mode.h"

#include <doctest/doctest.h>

namespace hybridkv::test {

namespace {

ModelSpec model_of(bool has_attention, bool has_states) {
  ModelSpec model;
  if (has_attention) model.layers.push_back({.attention = AttentionSpec{}});
  if (has_states) model.layers.push_back({.recurrent = RecurrentSpec{Mamba1Spec{}}});
  return model;
}

}  // namespace

TEST_CASE("rule: where caching is the default, it is so for models without attention only where the engine says that") {
  EngineRules rules;
  CHECK(default_cache_mode(rules, model_of(true, true)) == CacheMode::none);
  rules.caches_by_default = true;
  for (const bool states_alone : {true, false}) {
    rules.caches_states_alone = states_alone;
    CHECK(default_cache_mode(rules, model_of(true, true)) == CacheMode::align);
    CHECK(default_cache_mode(rules, model_of(true, false)) == CacheMode::align);
    CHECK(default_cache_mode(rules, model_of(false, true)) == (states_alone ? CacheMode::align : CacheMode::none));
  }
}

}  // namespace hybridkv::test
