// What each flag of a command does: the plan of the rest of the command.
#include "ask/flag_effects.h"

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "base/error.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("flag effects: law: each is the plan of what is left, and what is left may be none") {
  const auto packed = [] { return small_scenario("  attention_pack_size: 2\n  tensor_parallel: 2\n"); };
  const auto rest = [] { return small_scenario("  tensor_parallel: 2\n"); };
  const FlagEffects effects =
      flag_effects(packed(), {{"--packs 2", "engine.attention_pack_size", "2", rest},
                              {"--needed", "engine.memory", "1 GiB",
                               []() -> Scenario { throw InputError("nothing to plan: it is missing\nfor example"); }}});
  const auto check = [](const PlanBrief& brief, const Scenario& scenario) {
    const PlanSet set = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::summary);
    CHECK(brief.refused.empty());
    CHECK(brief.block_tokens == primary_block_tokens(set.plans.front()));
    CHECK(brief.capacity == capacity_of(set.plans.front(), longest_length(set)));
  };
  check(effects.whole, packed());
  REQUIRE(effects.flags.size() == 2);
  check(effects.flags[0].without, rest());
  CHECK(effects.whole.block_tokens != effects.flags[0].without.block_tokens);
  CHECK(effects.flags[0].key == "engine.attention_pack_size");
  CHECK(effects.flags[1].without.refused == "nothing to plan: it is missing");
}
