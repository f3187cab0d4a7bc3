#include "ask/recommend_radix.h"

#include "ask/bound_order.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "simulator/cache_replay.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

Scenario picked_scenario(const Scenario& scenario, const RadixRecommendAnswer& answer) {
  Scenario picked = searched_scenario(scenario);
  picked.engine = answer.result.candidates[answer.result.pick].engine;
  picked.pack_sizes = {picked.engine.attention_pack_size};
  picked.simulate.trace = answer.trace;
  return picked;
}

RadixRecommendAnswer recommend_radix_scenario(const Scenario& scenario, const RadixQuestion& question,
                                              const std::function<void(const RecommendProgress&)>& progress) {
  RadixRecommendAnswer answer;
  static_cast<RecommendBasics&>(answer) = basics_of(scenario, question);
  try {
    RadixRecommendSpec spec{.model = scenario.model, .engine = scenario.engine, .limits = scenario.limits,
                            .space = question.space, .at_length = weighed_length(scenario, question),
                            .min_concurrency = answer.min_concurrency, .rule = answer.rule,
                            .decodes = tree_decodes(answer.driver)};
    spec.open_trace = [&answer] { return open_trace(answer.trace); };
    spec.on_progress = progress;
    answer.result = recommend_radix(spec);
  } catch (const SpecError& error) {
    throw located(scenario_error(error), scenario);
  }
  for (const RadixCandidate& candidate : answer.result.candidates)
    answer.settings.push_back(own_settings(candidate.engine));
  const RadixCandidate& pick = answer.result.candidates[answer.result.pick];
  answer.pick.settings = answer.settings[answer.result.pick];
  const Scenario picked = picked_scenario(scenario, answer);
  const Scenario* const asked = &picked;
  answer.pick_bound = layout_bounds({&asked, 1}).front();
  if (answer.pick_bound) add_found(*answer.pick_bound, {pick.prompt_tokens, pick.hit_tokens});
  answer.pick.serve = serve_command({scenario.model, pick.engine, scenario.limits, scenario.simulate.scheduler,
                                     pick.plan, answer.pick.settings});
  return answer;
}

}  // namespace hybridkv
