#include "ask/flag_effects.h"

#include "ask/plan.h"
#include "base/error.h"
#include "base/first_line.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

PlanBrief brief_of(const std::function<Scenario()>& question) {
  PlanBrief brief;
  try {
    const Scenario scenario = question();
    const PlanSet set = plan_scenario(scenario, {scenario.pack_sizes.front()}, PlanDetail::summary);
    brief.block_tokens = primary_block_tokens(set.plans.front());
    brief.capacity = capacity_of(set.plans.front(), longest_length(set));
  } catch (const InputError& error) {
    brief.refused = first_line(error.what());
  }
  return brief;
}

}  // namespace

FlagEffects flag_effects(const Scenario& whole, const std::vector<FlagLeftOut>& flags) {
  FlagEffects effects;
  effects.whole = brief_of([&] { return whole; });
  for (const FlagLeftOut& flag : flags)
    effects.flags.push_back({flag.typed, flag.key, flag.value, brief_of(flag.without)});
  return effects;
}

}  // namespace hybridkv
