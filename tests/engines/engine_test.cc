// The list of engines, and what a null member of one says.
#include "engines/engine.h"

#include <doctest/doctest.h>

#include <set>

#include "planner/group_settings.h"
#include "planner/plan.h"
#include "planner/taken_keys.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: planning and all that stands above it know one list of engines, by names of their own") {
  const auto engines = all_engines();
  const auto rules = all_engine_rules();
  REQUIRE(engines.size() == rules.size());
  REQUIRE(engines.size() >= 7);
  std::set<std::string_view> names, titles;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    CHECK(engines[i]->rules == rules[i]);
    CHECK(&engine_of(*rules[i]) == engines[i]);
    CHECK(rules_named(rules[i]->name) == rules[i]);
    names.insert(rules[i]->name);
    titles.insert(rules[i]->title);
  }
  CHECK(names.size() == engines.size());
  CHECK(titles.size() == engines.size());
  CHECK(default_rules() == rules.front());
  CHECK(EngineSpec{}.rules == default_rules());
  CHECK(rules_named("vllm") == nullptr);
}

TEST_CASE("law: an engine without a command line says why, and its choices have no flags") {
  std::size_t without = 0;
  for (const Engine* const engine : all_engines()) {
    CAPTURE(engine->rules->name);
    EngineSpec spec{.cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
    spec.rules = engine->rules;
    spec.strategy = engine->rules->strategy;
    // 40 GiB do not hold the states of as many requests as it takes by default.
    if (takes(*spec.rules, "max_batch_size")) spec.own.set(group_key::max_batch_size, 64);
    const ModelSpec model = qwen35_397b();
    const LimitsSpec limits{.max_model_lens = {32'768}};
    const CachePlan plan = make_plan(model, spec, limits);
    const SchedulerSettings scheduler;
    const ServeCommand served = serve_command({model, spec, limits, scheduler, plan, {}});
    CHECK(served.command.empty() == (engine->serve == nullptr));
    if (engine->serve) continue;
    ++without;
    REQUIRE(served.beside.size() == 1);
    CHECK(served.beside.front().find(engine->rules->title) != std::string::npos);
    const CacheGeometry geometry{.state_groups = 1};
    const std::vector<EngineSetting> settings = block_settings({plan, geometry, 16, {}, {}});
    REQUIRE(settings.size() == 2);
    CHECK(settings[0].key == "engine.cache_mode");
    CHECK(settings[1].value == "16");
    for (const EngineSetting& setting : settings) CHECK(setting.flag.empty());
  }
  CHECK(without == 2);
}
