// Prompts replayed through a tree as an engine would answer them: the first prompt that differs is found, by its rule.
#include "ask/conform/replay_record.h"

#include <doctest/doctest.h>

#include "ask/conform/plan_record.h"
#include "ask/conform/record_difference.h"
#include "engines/sglang/engine.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "scenarios/model_library.h"

using namespace hybridkv;
using nlohmann::ordered_json;

namespace {

/// Two long prompts that begin alike, the second of them twice.
const std::vector<ConformPrompt> shared_beginnings{
    {{1, 5000}}, {{1, 3000}, {2, 2500}}, {{1, 3000}, {2, 2500}}};

/// A case with pools of few slots, and our side of it.
struct TreeCase {
  ConformCase one;
  CachePlan plan;
  ordered_json record;
};

TreeCase tree_case(void (*change)(EngineSpec&), std::vector<ConformPrompt> prompts = shared_beginnings) {
  const ModelSpec& model = find_shipped_model("Qwen3.5-4B")->model;
  EngineSpec engine = sglang_0_5_23.conformance->grid(model).front();
  engine.rules = sglang_0_5_23.rules;
  change(engine);
  constexpr std::int64_t length = 32'768;
  CachePlan plan = make_plan(model, engine, {.max_model_lens = {length}});
  TreeCase asked{{model, engine, length, std::move(prompts)}, std::move(plan), {}};
  const auto replay = replay_record(asked.one, asked.plan);
  REQUIRE(replay);
  asked.record = {{"replay", *replay}};
  return asked;
}

void change_nothing(EngineSpec&) {}

/// The first difference between what we say and what an engine with another rule would.
struct Falsified {
  std::string figure;
  std::string rule;
};

Falsified falsified(const TreeCase& ours, const TreeCase& theirs) {
  std::map<std::string, FigureCount> counts;
  const auto first = first_difference(ours.record, theirs.record, counts);
  REQUIRE(first);
  const std::optional<Decision> decision = decision_on(ours.plan, first->figure);
  REQUIRE(decision);
  CHECK(decision->source == "SGLang 0.5.23, run");
  return {first->figure, decision->rule};
}

}  // namespace

TEST_CASE("golden: a shared beginning is hit where a chunk ended, and the same prompt at its branch") {
  const TreeCase asked = tree_case(change_nothing);
  REQUIRE(asked.record["replay"].size() == 3);
  const ordered_json &second = asked.record["replay"][1], &third = asked.record["replay"][2];
  CHECK(second["hit_tokens"] == 2048);
  CHECK(second["branch_tokens"] == 2944);
  CHECK(second["chunks"] == std::vector<std::int64_t>{2048, 1404});
  CHECK(third["hit_tokens"] == 5440);
  CHECK(third["evicted_tokens"] == 0);
}

TEST_CASE("law: every figure of a replay through a tree has a rule") {
  for (const auto change : {change_nothing, +[](EngineSpec& engine) {
                              engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::no_buffer);
                            }}) {
    const TreeCase asked = tree_case(change);
    for (const auto& [name, value] : asked.record["replay"][0].items())
      CHECK_MESSAGE(decision_on(asked.plan, "replay[0]." + name), name);
  }
}

TEST_CASE("law: another rule is falsified by the first prompt that shows it, by name") {
  const TreeCase ours = tree_case(change_nothing);
  const Falsified chunks =
      falsified(ours, tree_case([](EngineSpec& engine) { engine.max_num_batched_tokens = 1024; }));
  CHECK(chunks.figure == "replay[0].chunks");
  CHECK(chunks.rule == "chunks of max_num_batched_tokens in whole pages, from the hit on");
  const Falsified kept = falsified(ours, tree_case([](EngineSpec& engine) {
    engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::no_buffer);
  }));
  CHECK(kept.figure == "replay[0].tree_tokens");
  CHECK(kept.rule.starts_with("the tree gets a chunk up to its state"));
}

TEST_CASE("edge: an engine dies of a prompt for whose copy of a state no slot is left, and answers no more") {
  const auto few_states = [](EngineSpec& engine) {
    engine.own.set(tree_key::skip_decode_lock, true);
    engine.own.set(tree_key::max_mamba_cache_size, 4);
  };
  const std::vector<ConformPrompt> found_and_long{{{1, 2100}}, {{1, 2100}, {2, 6000}}, {{1, 100}}};
  const ordered_json died = tree_case(few_states, found_and_long).record["replay"];
  REQUIRE(died.size() == 2);
  CHECK(died[0]["dies"] == false);
  CHECK(died[1] == ordered_json{{"dies", true}});
  // A lazy one gives up the state that it found.
  const ordered_json lazy = tree_case(
      [](EngineSpec& engine) {
        engine.own.set(tree_key::mamba_radix_cache_strategy, TreeStrategy::extra_buffer_lazy);
        engine.own.set(tree_key::skip_decode_lock, true);
        engine.own.set(tree_key::max_mamba_cache_size, 3);
      },
      found_and_long).record["replay"];
  REQUIRE(lazy.size() == 3);
  CHECK(lazy[1]["hit_tokens"] == 2048);
  CHECK(lazy[1]["evicted_states"] == 2);
}

TEST_CASE("edge: a prompt that no pool holds hits -1, and what is not cached has no record") {
  const TreeCase asked =
      tree_case([](EngineSpec& engine) { engine.own.set(tree_key::max_total_tokens, 4096); }, {{{1, 4500}}});
  CHECK(asked.record["replay"][0]["hit_tokens"] == -1);
  TreeCase uncached = tree_case(change_nothing);
  uncached.plan.cache_mode = CacheMode::none;
  CHECK_FALSE(replay_record(uncached.one, uncached.plan));
}
