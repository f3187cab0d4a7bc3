#include "planner/pool_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/grain_split.h"
#include "planner/group_engine.h"
#include "planner/group_settings.h"
#include "planner/group_split.h"
#include "planner/id_count.h"
#include "planner/strategies.h"
#include "planner/tensor_groups.h"
#include "planner/tensor_pool_rules.h"

namespace hybridkv {

namespace {

PoolGroups groups_of(const GroupQuota& quota, const EngineSpec& engine) {
  const TypicalRequests one = typical_requests(quota);
  PoolGroups groups;
  groups.first_manager = !engine.own[group_key::use_kv_cache_manager_v2];
  groups.grain_bytes = grain_of(engine.memory_bytes);
  if (!groups.first_manager && !engine.num_blocks) {
    groups.grains = ceil_div(engine.memory_bytes, groups.grain_bytes);
    groups.borrowed_bytes = Checked(groups.grains) * groups.grain_bytes - engine.memory_bytes;
  }
  groups.typical_tokens = quota.typical_tokens;
  groups.typical_blocks = one.blocks;
  groups.typical_states = one.states;
  groups.max_requests = quota.requests;
  groups.dummy_requests = quota.dummies;
  groups.least_bytes = least_memory(quota);
  groups.estimate_bytes = estimate_bytes(quota);
  groups.estimate_token_bytes = estimate_token_bytes(quota);
  groups.points = quota.points;
  groups.partial_reuse = !groups.first_manager && engine.own[group_key::enable_partial_reuse];
  groups.evicts_alone = !engine.own[group_key::prunes_stale_leaves];
  if (quota.host_bytes > 0) {
    const GroupIds ids = split_host(quota);
    const std::int64_t shared = shared_host_bytes(quota);
    groups.host = {shared, shared - quota.host_bytes, ids.blocks, ids.states};
  }
  return groups;
}

void derive_requests_of(const PoolGroups& groups, const GroupQuota& quota, const ArrangeInputs& inputs) {
  const DerivationLog& log = inputs.log;
  const bool is_typical = inputs.engine.own.find(group_key::avg_seq_len).has_value();
  log.add([&] {
    return Decision{{"requests of the engine", groups.max_requests, ""}, "max_batch_size, as set or 2,048", {},
                    "engine.max_batch_size"};
  });
  log.add([&] {
    return Decision{{"dummy requests", groups.dummy_requests, ""}, "1, that pads the batches of graphs", {},
                    log.cite(RuleOf::pool_groups)};
  });
  log.add([&] {
    return Decision{{"typical length", groups.typical_tokens, "tokens"},
                    is_typical ? "as set by the user" : "half the longest length that is asked about, or 1", {},
                    "engine.avg_seq_len"};
  });
  log.add([&] {
    return Decision{{"states of a typical request", groups.typical_states, ""},
                    "1 + the offsets of snapshots within its length: intervals and branches count nothing", {},
                    log.cite(RuleOf::pool_groups)};
  });
  log.add([&] {
    return Decision{{"blocks of a typical request", groups.typical_blocks, "blocks"},
                    "blocks = sum over its states of ceil(typical length / states / block): each counts as a request "
                    "of its part",
                    {{"typical length", groups.typical_tokens, "tokens"}, {"states", groups.typical_states, ""},
                     {"block", quota.block_tokens, "tokens"}},
                    log.cite(RuleOf::pool_groups)};
  });
  log.add([&] {
    return Decision{{"interval", groups.points.interval_tokens, "tokens"},
                    "periodic_snapshot_interval, 0 unless set: no periodic snapshots", {},
                    "engine.periodic_snapshot_interval"};
  });
  const auto add_offsets = [&](const char* where, const std::vector<std::int64_t>& offsets, const char* key) {
    for (const std::int64_t offset : offsets)
      log.add([&] { return Decision{{std::string("snapshot ") + where, offset, "tokens"}, "as set", {}, key}; });
  };
  add_offsets("after the start", groups.points.from_start, "engine.additional_snapshot_offsets_from_start");
  add_offsets("before the end", groups.points.from_end, "engine.additional_snapshot_offsets_from_end");
}

void derive_memory(const PoolGroups& groups, const GroupQuota& quota, const ArrangeInputs& inputs) {
  const DerivationLog& log = inputs.log;
  const Term memory{"memory", quota.memory_bytes, "bytes"}, grain{"grain", groups.grain_bytes, "bytes"};
  const auto add = [&](Term result, const char* rule, std::vector<Term> terms) {
    log.add([&] { return Decision{std::move(result), rule, std::move(terms), log.cite(RuleOf::pool_groups)}; });
  };
  add(grain, "grain = 2 MiB << min(4, max(0, int(log2(memory / (512 * 2 MiB)))))", {memory});
  add({"grains", groups.grains, ""},
      groups.grains > 0 ? "grains = ceil(memory / grain)" : "0: ids are not counted by grains", {memory, grain});
  add({"bytes beyond the memory", groups.borrowed_bytes, "bytes"},
      groups.grains > 0 ? "grains * grain - memory" : "what the ids take beyond it", {memory, grain});
  add({"least memory", groups.least_bytes, "bytes"}, "least = (requests + dummies) * M + block",
      {{"requests", quota.requests, ""}, {"dummies", quota.dummies, ""}, {"M", quota.state_bytes(), "bytes"},
       {"block", quota.block_bytes(), "bytes"}});
  add({"estimate before any token", groups.estimate_bytes, "bytes"},
      "estimate = (requests * (1 + different offsets) + dummies) * M, and a block for each request where there are "
      "offsets or an interval",
      {{"M", quota.state_bytes(), "bytes"}});
  add({"estimate of a token", groups.estimate_token_bytes, "bytes"}, "cell + ceil(M / interval)",
      {{"M", quota.state_bytes(), "bytes"}});
}

void derive_weights(const GroupQuota& quota, const ArrangeInputs& inputs) {
  const DerivationLog& log = inputs.log;
  const char* names[] = {"weight of states", "weight of blocks"};
  for (std::size_t i = 0; i < 2; ++i)
    log.add([&] {
      if (quota.shares)
        return Decision{{names[i], (*quota.shares)[i], ""}, "as set by the user, as kv_cache_config.pool_ratio does",
                        {}, "engine.pool_ratio"};
      return Decision{{names[i], weights_of(quota)[i], "bytes"},
                      i == 0 ? "weight = whole grains of requests * states of a typical request + dummies"
                             : "weight = whole grains of requests * blocks of a typical request",
                      {{"requests", quota.requests, ""}}, log.cite(RuleOf::pool_groups)};
    });
}

void derive_host(const GroupHost& host, const GroupQuota& quota, const ArrangeInputs& inputs) {
  if (!host.exists()) return;
  const DerivationLog& log = inputs.log;
  const Term shared{"bytes of the host", host.bytes, "bytes"};
  const auto add = [&](Term result, const char* rule, std::vector<Term> terms) {
    log.add([&] { return Decision{std::move(result), rule, std::move(terms), log.cite(RuleOf::split_source_only)}; });
  };
  add(shared, "host_cache_size in pages of 4096 bytes, and no less than requests + dummies states and a block take",
      {{"host_cache_size", quota.host_bytes, "bytes"}, {"requests", quota.requests, ""},
       {"dummies", quota.dummies, ""}});
  add({"bytes beyond host_cache_size", host.borrowed_bytes, "bytes"}, "bytes of the host - host_cache_size",
      {shared, {"host_cache_size", quota.host_bytes, "bytes"}});
  const char* const rule = "the most slots that its pages of 4096 bytes hold, by weights and least of the device";
  add({"blocks of the host", host.blocks, "blocks"}, rule, {shared});
  add({"states of the host", host.states, ""}, rule, {shared});
}

/// Ids of blocks and of states, in the order of the arenas.
std::array<std::int64_t, 2> ids_of(const PoolGroups& groups, const GroupQuota& quota, const ArrangeInputs& inputs) {
  if (inputs.engine.num_blocks) return {*inputs.engine.num_blocks, *inputs.engine.num_blocks};
  if (!groups.first_manager) derive_weights(quota, inputs);
  const GroupIds ids = groups.first_manager ? split_first_manager(quota) : split_groups(quota);
  return {ids.blocks, ids.states};
}

void set_ids(Arrangement& arrangement, const PoolGroups& groups, std::span<const std::int64_t> ids,
             const ArrangeInputs& inputs) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ArenaPlan& arena = arrangement.arenas[i];
    require_addressable(ids[i], arena.bytes_per_id, "ids");
    arena.num_ids = ids[i];
    const bool is_set = inputs.engine.num_blocks.has_value();
    const char* rule = is_set ? "as set by the user"
                       : !groups.first_manager
                           ? "the most slots that its grains hold: memory by weight, the lighter group first"
                       : i == 0 ? "ids = floor((memory - requests * M) / (cell + floor(M / interval)) / block)"
                                : "ids = requests + dummies + floor(tokens / interval)";
    const RuleOf source = groups.first_manager ? RuleOf::periodic_checkpoints : RuleOf::pool_groups;
    inputs.log.add([&] {
      return Decision{{"ids of " + arena.name, ids[i], "ids"}, rule, {{"bytes of an id", arena.bytes_per_id, "bytes"}},
                      is_set ? "engine.num_blocks" : inputs.log.cite(source)};
    });
  }
}

}  // namespace

void arrange_pool_groups(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  arrangement.specs =
      size_own_pages(std::move(specs), group_block_sizes(engine, inputs.log), engine, inputs.limits, inputs.log);
  for (const bool states : {false, true}) {
    arrangement.arenas.push_back({states ? "states" : "blocks", 0, 0, false});
    for (const SpecPlan& spec : arrangement.specs)
      if (spec.state.has_value() == states) add_tensor_groups(arrangement, spec);
  }
  const GroupQuota quota = group_quota(arrangement, inputs.model, engine, inputs.limits);
  PoolGroups groups = groups_of(quota, engine);
  derive_requests_of(groups, quota, inputs);
  const std::array<std::int64_t, 2> ids = ids_of(groups, quota, inputs);
  set_ids(arrangement, groups, ids, inputs);
  place_side_by_side(arrangement);
  // The first manager counts the state of a dummy request with none of the memory.
  if (groups.first_manager && !engine.num_blocks)
    groups.borrowed_bytes = std::max<std::int64_t>(0, arrangement.pool_bytes() - engine.memory_bytes);
  derive_memory(groups, quota, inputs);
  derive_host(groups.host, quota, inputs);
  arrangement.pool_groups = groups;
  derive_own_pages(arrangement, inputs.log);
}

}  // namespace hybridkv
