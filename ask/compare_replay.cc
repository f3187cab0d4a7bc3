#include "ask/compare_replay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ask/plan.h"
#include "ask/simulate.h"
#include "ask/simulate_radix.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "planner/engine_rules.h"
#include "simulator/cache_geometry.h"
#include "simulator/slot_replay.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace {

using OnProgress = std::function<void(const SweepProgress&)>;

/// Settings are compared at the longest length, wherever that stands in the list; `caches`: (length).
template <class Caches>
Caches only_longest(const Caches& caches, const LimitsSpec& limits) {
  const auto& lengths = limits.max_model_lens;
  const auto longest = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
  return {caches.at(static_cast<std::size_t>(longest))};
}

ReplayedSetting replay_tree(const Scenario& scenario, const SimulateRequest& request, const OnProgress& on_progress) {
  const std::vector<RadixCache> caches = only_longest(planned_radix_caches(scenario), scenario.limits);
  const RadixAnswer answer = simulate_radix(request, caches, {.on_progress = on_progress});
  const RadixStats& stats = answer.stats.front();
  return {.requests = stats.ended(),
          .taken_prompt_tokens = stats.taken_prompt_tokens,
          .prompt_tokens = stats.prompt_tokens,
          .hit_tokens = stats.hit_tokens,
          .requests_with_hit = stats.requests_with_hit,
          .kv_match_tokens = stats.kv_match_tokens,
          .checkpoints_made = stats.states_made,
          .checkpoints_used = stats.states_used,
          .checkpoints_evicted = stats.evicted_states,
          .refused = stats.requests - stats.ended(),
          .unserved = stats.refused + stats.stalled,
          .token_exact_hit_tokens = answer.token_exact_hit_tokens.front()};
}

/// Prompts one after the other through the slots of a server.
class SlotsReplay final : public Replay {
 public:
  SlotsReplay(const SlotSettings& settings, std::int64_t max_model_len)
      : replay_(settings), max_model_len_(max_model_len) {}

  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      if (!refused_for_length(one.input_length, max_model_len_)) {
        stats_.add(replay_.run(one, batch.prompt(one)));
        continue;
      }
      stats_.add({.index = one.index, .input_length = one.input_length, .status = RequestStatus::too_long});
      ++too_long_;
    }
  }
  const SlotStats& stats() const { return stats_; }
  std::int64_t too_long() const { return too_long_; }

 private:
  SlotReplay replay_;
  SlotStats stats_;
  std::int64_t max_model_len_, too_long_ = 0;
};

ReplayedSetting replay_slots(const Scenario& scenario, const SimulateRequest& request, const OnProgress& on_progress) {
  if (request.driver.kind != DriverKind::one_at_a_time)
    throw SpecError("simulate.driver", "slots are replayed one prompt at a time; take one_at_a_time");
  refuse_policies(request, "a server with slots");
  const auto& lengths = scenario.limits.max_model_lens;
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const SlotSettings settings =
      slot_settings_of(plan_scenario(scenario, scenario.pack_sizes, PlanDetail::numbers).plans.front());
  auto slots = std::make_unique<SlotsReplay>(settings, longest);
  auto bound = std::make_unique<TokenExactBound>(longest);
  const SlotsReplay& replayed = *slots;
  const TokenExactBound& exact = *bound;
  std::vector<std::unique_ptr<Replay>> replays;
  replays.push_back(std::move(slots));
  replays.push_back(std::move(bound));
  run_replays(*open_trace(request.trace), replays, 0, on_progress);
  const SlotStats& stats = replayed.stats();
  return {.requests = stats.requests,
          .taken_prompt_tokens = exact.prompt_tokens(),
          .prompt_tokens = stats.prompt_tokens,
          .hit_tokens = stats.hit_tokens,
          .requests_with_hit = stats.requests_with_hit,
          .kv_match_tokens = stats.common_tokens,
          .checkpoints_made = stats.checkpoints_made,
          .checkpoints_used = stats.checkpoints_used,
          .checkpoints_evicted = stats.checkpoints_dropped,
          .refused = stats.refused,
          .unserved = stats.refused - replayed.too_long(),
          .token_exact_hit_tokens = exact.hit_tokens()};
}

ReplayedSetting replay_blocks(const Scenario& scenario, const SimulateRequest& request,
                              const OnProgress& on_progress) {
  const std::vector<CacheGeometry> caches = only_longest(planned_caches(scenario), scenario.limits);
  const SimulateAnswer answer = simulate({request, caches}, {.on_progress = on_progress});
  const SimulationStats& stats = answer.result.stats.front();
  return figures_of(stats, answer.result.token_exact_hit_tokens.front());
}

}  // namespace

ReplayedSetting figures_of(const SimulationStats& stats, std::int64_t token_exact_hit_tokens) {
  const std::int64_t refused = stats.refused + stats.stalled + stats.too_long;
  return {.requests = stats.requests - refused,
          .taken_prompt_tokens = stats.taken_prompt_tokens,
          .prompt_tokens = stats.prompt_tokens,
          .hit_tokens = stats.hit_tokens,
          .requests_with_hit = stats.requests_with_hit,
          .kv_match_tokens = stats.hit_tokens + stats.uncached_common_tokens,
          .checkpoints_made = stats.pool.checkpoints_made,
          .checkpoints_used = stats.pool.checkpoints_used,
          .checkpoints_evicted = stats.pool.checkpoints_evicted,
          .refused = refused,
          .unserved = stats.refused + stats.stalled,
          .token_exact_hit_tokens = token_exact_hit_tokens};
}

bool has_block_index(const EngineRules& rules) {
  return !rules.radix_pools && rules.strategy != Strategy::sequence_rows;
}

ReplayedSetting replay_setting(const Scenario& scenario, const OnProgress& on_progress) {
  SimulateRequest request = scenario.simulate;
  request.upper_bounds = true;
  const EngineRules& rules = *scenario.engine.rules;
  if (has_block_index(rules)) return replay_blocks(scenario, request, on_progress);
  return rules.radix_pools ? replay_tree(scenario, request, on_progress)
                           : replay_slots(scenario, request, on_progress);
}

std::vector<std::optional<ReplayedSetting>> replay_settings(const std::vector<CompareSetting>& settings,
                                                            const std::vector<bool>& planned,
                                                            const OnProgress& on_progress) {
  std::vector<std::optional<ReplayedSetting>> replayed;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    replayed.emplace_back();
    const Scenario& scenario = settings[i].scenario;
    if (!planned[i]) continue;
    try {
      replayed.back() = replay_setting(scenario, on_progress);
    } catch (const SpecError& error) {
      throw located(scenario_error(error), scenario);
    }
  }
  return replayed;
}

}  // namespace hybridkv
