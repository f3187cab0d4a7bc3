// Whose words `explain` cites: every engine says where each rule comes from that a plan of it follows.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "planner/plan.h"
#include "scenarios/model_library.h"

namespace hybridkv::test {

namespace {

/// Symbols of the decisions whose source nobody says.
std::set<std::string> unsaid(const CachePlan& plan) {
  std::set<std::string> symbols;
  for (const Decision& decision : plan.derivation)
    if (decision.source.empty() || decision.source == "modelled") symbols.insert(decision.result.symbol);
  return symbols;
}

EngineSpec spec_of(const EngineRules& rules, Strategy strategy) {
  EngineSpec engine{.strategy = strategy, .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{4000} << 30};
  engine.rules = &rules;
  return engine;
}

std::optional<CachePlan> plan_or_none(const ModelSpec& model, const EngineSpec& engine) {
  try {
    const WorkspaceSpec batch{.query_tokens = 64, .shared_blocks = 8, .block_size_tokens = 16};
    return make_plan(model, engine, {.max_model_lens = {4096}}, batch, PlanDetail::derived);
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

/// Of the first engine, but for what it says of groups.
std::string_view without_groups(RuleOf rule) {
  return rule == RuleOf::groups ? std::string_view() : default_rules()->source(rule);
}

}  // namespace

TEST_CASE("law: of every model, engine and strategy each decision has a source that the engine says") {
  std::size_t planned = 0;
  std::set<const EngineRules*> of_engines;
  for (const ShippedModel& shipped : shipped_models())
    for (const EngineRules* const rules : all_engine_rules())
      for (const Strategy strategy : all_strategies)
        for (const std::int64_t drafts : {0, 2}) {
          EngineSpec engine = spec_of(*rules, strategy);
          engine.speculative_tokens = drafts;
          engine.mtp_layers = drafts > 0 && shipped.model.mtp ? 1 : 0;
          const std::optional<CachePlan> plan = plan_or_none(shipped.model, engine);
          if (!plan) continue;
          ++planned;
          of_engines.insert(rules);
          CAPTURE(shipped.model.name);
          CAPTURE(rules->name);
          CAPTURE(to_string(strategy));
          CHECK(unsaid(*plan) == std::set<std::string>{});
        }
  CHECK(planned > 10 * shipped_models().size());
  CHECK(of_engines.size() == all_engine_rules().size());
}

TEST_CASE("law: where heads are padded or counted, their source is said too") {
  std::size_t padded = 0, counted = 0;
  for (const ShippedModel& shipped : shipped_models())
    for (const EngineRules* const rules : all_engine_rules())
      for (const bool pads : {false, true}) {
        EngineSpec engine = spec_of(*rules, rules->strategy);
        engine.tensor_parallel = 3;
        engine.pad_heads = pads;
        const std::optional<CachePlan> plan = plan_or_none(shipped.model, engine);
        if (!plan) continue;
        CHECK(unsaid(*plan) == std::set<std::string>{});
        for (const Decision& decision : plan->derivation) {
          padded += decision.result.symbol.starts_with("padded ");
          counted += decision.result.symbol.starts_with("counted ");
        }
      }
  CHECK(padded > 0);
  CHECK(counted > 0);
}

TEST_CASE("edge: what an engine does not say is found, and its plans are made all the same") {
  const ModelSpec& model = find_shipped_model("Qwen3.5-0.8B")->model;
  EngineRules rules = *default_rules();
  const std::optional<CachePlan> whole = plan_or_none(model, spec_of(rules, rules.strategy));
  REQUIRE(whole);
  rules.source = without_groups;
  const std::optional<CachePlan> part = plan_or_none(model, spec_of(rules, rules.strategy));
  REQUIRE(part);
  CHECK(unsaid(*part).contains("g"));
  CHECK_FALSE(unsaid(*part).contains("B"));
  rules.source = nullptr;
  const std::optional<CachePlan> none = plan_or_none(model, spec_of(rules, rules.strategy));
  REQUIRE(none);
  CHECK(unsaid(*none).contains("B"));
  CHECK(none->arenas == whole->arenas);
}

TEST_CASE("rule: a way out names the engines that have it, sorted, and another where none has") {
  CHECK(releases_with([](const EngineRules&) { return false; }) == "another");
  CHECK(releases_with([](const EngineRules& rules) { return &rules == default_rules(); }) == default_rules()->name);
  const std::string all = releases_with([](const EngineRules&) { return true; });
  CHECK(all.starts_with("compact-slots, jenga, llama.cpp, "));
  CHECK(all.ends_with(" or vllm-2026-06"));
}

}  // namespace hybridkv::test
