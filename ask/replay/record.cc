#include "ask/replay/record.h"

#include <fmt/format.h>

#include "ask/plan.h"
#include "base/error.h"
#include "simulator/recording/block_recorder.h"

namespace hybridkv {

Recording recording_of_run(const AnyCache& cache, const Scenario* planned) {
  const auto* const blocks = std::get_if<CacheGeometry>(&cache);
  if (!blocks)
    throw InputError(fmt::format("--record writes what happens in pools of blocks, and {} has none; record the engine "
                                 "itself, or choose one with blocks by --engine", rules_of(cache).title));
  if (blocks->host)
    throw InputError("--record does not follow blocks to memory of the host and back; leave out --host-memory");
  if (!planned) return recording_of(*blocks);
  const PlanSet plans = plan_scenario(*planned, planned->pack_sizes);
  return recording_of(*blocks, plans.plans.front(), planned->engine);
}

}  // namespace hybridkv
