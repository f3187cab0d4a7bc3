#include "ask/clock/timed_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

struct RulesOfCache {
  LoopRules rules;

  LoopRules operator()(const CacheGeometry& blocks) {
    rules.most_running = blocks.scheduler.most_running();
    // A request has a block of every group: of states one, of tokens as many as they need.
    const auto groups = static_cast<double>(std::max<std::int64_t>(1, blocks.attention_groups));
    if (blocks.attention_groups > 0)
      rules.cache_tokens =
          static_cast<double>(blocks.num_blocks) * static_cast<double>(blocks.block_size_tokens) / groups;
    if (blocks.state_arenas.empty())
      rules.request_tokens =
          static_cast<double>(blocks.state_groups) * static_cast<double>(blocks.block_size_tokens) / groups;
    return rules;
  }
  LoopRules operator()(const TreeCache& tree) {
    rules.budget = tree.settings.chunk_tokens;
    rules.most_running = tree.settings.max_running;
    if (tree.settings.has_states())
      rules.most_running =
          std::min(rules.most_running, tree.settings.state_slots / (1 + tree.settings.tracking_slots()));
    rules.cache_tokens = static_cast<double>(tree.settings.token_slots);
    return rules;
  }
  LoopRules operator()(const SnapshotCache& snapshots) {
    rules.budget = snapshots.settings.chunk_tokens;
    rules.most_running = std::max<std::int64_t>(1, snapshots.settings.states);
    rules.cache_tokens =
        static_cast<double>(snapshots.settings.blocks) * static_cast<double>(snapshots.settings.block_tokens);
    return rules;
  }
  LoopRules operator()(const SlotCache&) { return rules; }
};

}  // namespace

LoopRules loop_rules(const AnyCache& cache, const Scenario& scenario, const ClockSplit& split) {
  LoopRules rules{.budget = scenario.engine.max_num_batched_tokens,
                  .drafts = {scenario.engine.speculative_tokens, scenario.simulate.scheduler.acceptance},
                  .ranks = split.data_parallel()};
  if (const EngineClock* clock = engine_of(rules_of(cache)).clock) {
    rules.prompts_alone = clock->prompts_alone;
    rules.reserves_outputs = clock->reserves_outputs;
    rules.loads_by_layer = clock->loads_by_layer;
  }
  return std::visit(RulesOfCache{rules}, cache);
}

std::optional<TimedAnswer> set_clock(Scenario& scenario, const AnyCache& cache) {
  const TimedQuestion& question = scenario.simulate.clock;
  if (!question.is_asked()) return std::nullopt;
  TimedAnswer answer{.served = served_clock(scenario, question.served),
                     .limits = question.limits,
                     .rate = question.rate,
                     .price_per_gpu_hour = question.price_per_gpu_hour};
  const ClockSplit& split = answer.served.clock->split();
  if (split.data_parallel() > 1)
    throw InputError(fmt::format("--gpus {}: beside --tp {} that is attention data parallel in {} parts, each with a "
                                 "cache of its own, which replays do not have; take --tp {}", split.gpus,
                                 split.tensor_parallel, split.data_parallel(), split.gpus));
  DriverSpec& driver = scenario.simulate.driver;
  if (driver.kind == DriverKind::one_at_a_time) driver.kind = DriverKind::open_loop;
  driver.clock = answer.served.clock;
  driver.loop = loop_rules(cache, scenario, split);
  driver.limits = question.limits;
  driver.rate = question.rate;
  return answer;
}

TimedAnswer set_clock(Scenario& scenario, const AnyCache& cache, const TimedQuestion& question) {
  scenario.simulate.clock = question;
  return set_clock(scenario, cache).value();
}

}  // namespace hybridkv
