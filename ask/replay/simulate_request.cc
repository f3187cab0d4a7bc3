#include "ask/replay/simulate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace hybridkv {

namespace {

void add_host(CacheGeometry& geometry, const SimulateRequest& request, const CachePlan& plan) {
  if (!request.host_memory_bytes) {
    if (request.host_state_share)
      throw SpecError("simulate.host_state_share",
                      "is a share of simulate.host_memory, which is not given; give it too");
    return;
  }
  // June's rules count what windows hold and leave it out of what is found again, so the geometry has none.
  for (const GroupPlan& group : plan.groups)
    if (const auto& attention = plan.spec_of(group).attention; attention && attention->window_tokens > 0)
      throw host_refusal("windows");
  HostSettings& host = geometry.host.emplace();
  host.memory_bytes = request.host_memory_bytes;
  host.state_share = request.host_state_share;
  host.write = request.host_write;
  host.bytes_per_second = request.driver.host_bytes_per_second;
  for (const ArenaPlan& arena : plan.arenas) host.block_bytes.push_back(arena.bytes_per_id);
}

}  // namespace

CacheGeometry with_settings(CacheGeometry geometry, const SimulateRequest& request) {
  geometry.scheduler = request.scheduler.with_longest(geometry.scheduler.max_model_len);
  if (request.retention_interval_tokens) geometry.retention_interval_tokens = request.retention_interval_tokens;
  if (request.keeps_all_checkpoints) geometry.retention_interval_tokens.reset();
  if (request.match_unit_tokens) geometry.match_unit_tokens = request.match_unit_tokens;
  return geometry;
}

CacheGeometry with_settings(CacheGeometry geometry, const SimulateRequest& request, const CachePlan& plan) {
  geometry = with_settings(std::move(geometry), request);
  add_host(geometry, request, plan);
  return geometry;
}

SpecError scenario_error(const SpecError& error) {
  constexpr std::pair<std::string_view, std::string_view> prefixes[] = {{"geometry.", "simulate."},
                                                                        {"driver.", "simulate."},
                                                                        {"router.", "simulate.fleet."},
                                                                        {"fleet.", "simulate.fleet."},
                                                                        {"prompts[", "simulate.trace.prompts["},
                                                                        {"trace.", "simulate.trace.synthetic."}};
  constexpr std::string_view planned[] = {"block_size_tokens", "num_blocks", "attention_groups", "state_groups",
                                          "max_num_batched_tokens"};
  for (const auto& [prefix, key] : prefixes) {
    if (!error.path().starts_with(prefix)) continue;
    const std::string field = error.path().substr(prefix.size());
    const bool of_plan =
        prefix == "geometry." && std::find(std::begin(planned), std::end(planned), field) != std::end(planned);
    return {(of_plan ? "engine." : std::string(key)) + field, error.message()};
  }
  return error;
}

void refuse_unable(const SimulateRequest& request, const ReplayAbilities& able) {
  if (request.host_memory_bytes && !able.host_memory)
    throw SpecError("simulate.host_memory", fmt::format("memory of the host is replayed behind pools of blocks, and "
                                                        "this is {}{}{}; leave it out", able.index,
                                                        able.host_keys.empty() ? "" : ": ", able.host_keys));
  const SchedulerSettings& settings = request.scheduler;
  if (!settings.evicts_as_engines() && !able.policies)
    throw SpecError("simulate.eviction", fmt::format("policies are tried on pools of blocks, and {} is replayed with "
                                                     "its engine's own; take lru", able.index));
  if (settings.checkpoint_back > 0 && !able.chosen_places)
    throw SpecError("simulate.checkpoint_back",
                    fmt::format("states are moved in pools of blocks alone, and this is {}; take 0", able.index));
}

}  // namespace hybridkv
