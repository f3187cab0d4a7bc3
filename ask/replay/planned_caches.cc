#include "ask/replay/planned_caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ask/plan.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "base/number_text.h"
#include "engines/engine.h"

namespace hybridkv {

bool has_block_index(const EngineRules& rules) { return engine_of(rules).blocks != nullptr; }

AnyCache cache_of(const CachePlan& plan, const Scenario& scenario, std::int64_t max_model_len) {
  refuse_unable(scenario.simulate, *engine_of(*scenario.engine.rules).abilities);
  AnyCache cache = replayed_cache(plan, scenario.model, scenario.engine, max_model_len);
  if (scenario.limits.max_model_lens.size() > 1)
    std::visit([&](auto& one) { one.name += fmt::format(", L = {}", human_count(max_model_len)); }, cache);
  if (auto* const blocks = std::get_if<CacheGeometry>(&cache))
    return with_settings(std::move(*blocks), scenario.simulate, plan);
  return cache;
}

AnyCache cache_of(const CachePlan& plan, const Scenario& scenario) {
  const auto& lengths = scenario.limits.max_model_lens;
  return cache_of(plan, scenario, *std::max_element(lengths.begin(), lengths.end()));
}

std::vector<AnyCache> planned_caches(const Scenario& scenario) {
  std::vector<AnyCache> caches;
  for (const CachePlan& plan : plan_scenario(scenario, scenario.pack_sizes).plans)
    for (const std::int64_t length : scenario.limits.max_model_lens) {
      try {
        caches.push_back(cache_of(plan, scenario, length));
      } catch (const SpecError& error) {
        throw located(scenario_error(error), scenario);
      }
    }
  return caches;
}

std::vector<AnyCache> bare_caches(const BareCaches& described, const SimulateRequest& request) {
  std::vector<AnyCache> caches;
  for (const CacheMode mode : described.modes)
    for (const std::int64_t block : described.block_sizes)
      for (const std::int64_t blocks : described.num_blocks) {
        CacheGeometry geometry{.block_size_tokens = block, .num_blocks = blocks,
                               .attention_groups = described.attention_groups,
                               .state_groups = described.state_groups, .mode = mode};
        geometry.name = fmt::format("{} x {} {}", block, blocks,
                                    geometry.state_groups > 0 ? to_string(mode) : "attention only");
        if (described.max_num_batched_tokens) geometry.max_num_batched_tokens = *described.max_num_batched_tokens;
        if (request.host_memory_bytes)
          throw SpecError("simulate.host_memory", "what a block takes on the host follows from a plan, and this cache "
                                                  "has none; name a scenario, or leave it out");
        caches.emplace_back(with_settings(geometry, request));
      }
  return caches;
}

}  // namespace hybridkv
