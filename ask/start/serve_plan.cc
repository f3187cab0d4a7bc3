#include "ask/start/serve_plan.h"

#include "planner/default_mode.h"

namespace hybridkv {

ServeCommand serve_plan(const Scenario& scenario, const CachePlan& plan, const StartChoice& choice) {
  const bool is_default = plan.cache_mode == default_cache_mode(*plan.rules, scenario.model);
  std::vector<EngineSetting> settings = planned_settings(
      scenario.engine, {plan, scenario.engine.block_size_tokens, choice.says_mode || !is_default});
  if (choice.enforce_eager) settings.push_back({"", "", "--enforce-eager"});
  SchedulerSettings scheduler = scenario.simulate.scheduler;
  if (choice.max_num_seqs) scheduler.max_num_seqs = *choice.max_num_seqs;
  Served served{scenario.model, scenario.engine, scenario.limits, scheduler, plan, std::move(settings)};
  served.gpu_share = choice.gpu_share;
  return serve_command(served);
}

}  // namespace hybridkv
