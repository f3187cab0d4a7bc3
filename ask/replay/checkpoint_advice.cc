#include "ask/replay/checkpoint_advice.h"

#include <fmt/format.h>

#include <memory>

#include "ask/replay/planned_caches.h"
#include "ask/typed_list.h"
#include "base/error.h"
#include "engines/engine.h"
#include "planner/engine_rules.h"
#include "search/shared_depths.h"
#include "simulator/sweep.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_places[] = {1, 2, 3, 4, 6, 8};
constexpr std::int64_t most_back = 4;        // found of each is said
constexpr std::int64_t most_back_tried = 2;  // and of each of these replayed

using CheckpointSetting = CheckpointAnswer::Setting;

/// A cache as it would be with a setting.
CacheGeometry with_setting(CacheGeometry geometry, const CheckpointSetting& setting) {
  geometry.retention_interval_tokens = setting.retention_tokens;
  geometry.scheduler.checkpoint_back = setting.back;
  return geometry;
}

void replay(CheckpointAnswer& advice, const CacheGeometry& cache, const SimulateRequest& request) {
  SweepSpec sweep;
  std::vector<CheckpointSetting*> replayed;
  for (CheckpointSetting& setting : advice.settings) {
    const CacheGeometry geometry = with_setting(cache, setting);
    try {
      validate(geometry);
    } catch (const SpecError& error) {
      setting.refused = error.message();
      continue;
    }
    sweep.simulations.push_back({.cache = geometry, .driver = request.driver});
    replayed.push_back(&setting);
  }
  const SweepResult result = run_sweep(*open_trace(request.trace), sweep);
  for (std::size_t i = 0; i < replayed.size(); ++i) {
    replayed[i]->found_tokens = result.caches[i].counts().hit_tokens;
    replayed[i]->states_made = result.caches[i].counts().checkpoints_made;
  }
}

}  // namespace

CheckpointAnswer advise_checkpoints(const Scenario& scenario,
                                    const std::vector<std::optional<std::int64_t>>& retentions) {
  if (!engine_of(*scenario.engine.rules).abilities->chosen_places || scenario.engine.rules->checkpoint_tokens)
    throw located(SpecError("engine.release",
                            fmt::format("{} keeps states by rules of its own, not at places that could be chosen; "
                                        "leave checkpoints out", scenario.engine.rules->title)),
                  scenario);
  refuse_typed_list(scenario, "engine.attention_pack_size", scenario.pack_sizes, "compare");
  refuse_typed_list(scenario, "limits.max_model_len", scenario.limits.max_model_lens, "simulate");
  const auto cache = std::get<CacheGeometry>(planned_caches(scenario).front());
  if (cache.state_groups == 0)
    throw located(SpecError("model.layers", fmt::format("{} keeps no states, so there are no checkpoints to place; "
                                                        "take a model with recurrent layers", scenario.model.name)),
                  scenario);
  if (!cache.aligns_chunks())
    throw located(SpecError("engine.cache_mode", "checkpoints are kept at chosen places in mode align alone; take "
                                                 "align"),
                  scenario);
  CheckpointAnswer advice{.name = cache.name, .trace = describe(scenario.simulate.trace),
                          .unit_tokens = cache.checkpoint_step()};
  ReusePaths paths(advice.unit_tokens, cache.scheduler.max_model_len);
  const std::unique_ptr<TraceSource> trace = open_trace(scenario.simulate.trace);
  for (TraceBatch batch; trace->next(batch);) paths.consume(batch);
  advice.requests = paths.num_requests();
  advice.prompt_tokens = paths.all_prompt_tokens();
  const SharedDepths shared = shared_depths(paths, most_back);
  advice.sharing_requests = shared.requests;
  advice.shared_tokens = shared.units * advice.unit_tokens;
  for (const std::int64_t units : shared.found_back) advice.found_back.push_back(units * advice.unit_tokens);
  for (const std::int64_t states : most_places) {
    const CheckpointPositions best = best_positions(shared.depths, states);
    CheckpointAnswer::Places places{.states = states,
                                    .recomputed_tokens = best.recomputed * static_cast<double>(advice.unit_tokens)};
    for (const std::int64_t units : best.positions) places.tokens.push_back(units * advice.unit_tokens);
    advice.places.push_back(std::move(places));
  }
  std::vector<std::optional<std::int64_t>> intervals = retentions;
  if (intervals.empty()) intervals = {std::nullopt, 0, 4 * advice.unit_tokens, 16 * advice.unit_tokens};
  const std::int64_t back_tried = cache.rules.blocks->cuts_to_blocks(cache) ? most_back_tried : 0;
  for (const auto& interval : intervals)
    for (std::int64_t back = 0; back <= back_tried; ++back)
      advice.settings.push_back({.retention_tokens = interval, .back = back});
  replay(advice, cache, scenario.simulate);
  return advice;
}

}  // namespace hybridkv
