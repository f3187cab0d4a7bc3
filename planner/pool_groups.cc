#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/grain_split.h"
#include "planner/id_count.h"
#include "planner/page_sizes.h"
#include "planner/strategies.h"
#include "planner/tensor_groups.h"
#include "planner/tensor_pool_rules.h"
#include "planner/tensor_pool_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t default_requests = 2048;  // max_batch_size of the engine

/// What an id of each arena takes, and what memory is shared by.
struct Shares {
  std::vector<std::int64_t> block_pools;     ///< bytes of a block in each pool
  std::vector<std::int64_t> state_pools;     ///< bytes of a checkpoint in each pool
  Checked token_bytes = 0;                   ///< a block over its tokens: all attention layers
  Checked state_bytes = 0;                   ///< M over all recurrent layers
};

Shares shares_of(const Arrangement& arrangement) {
  Shares shares;
  for (const GroupPlan& group : arrangement.groups) {
    const SpecPlan& spec = arrangement.spec_of(group);
    const Checked id = Checked(static_cast<std::int64_t>(group.pages.size())) * arrangement.page_bytes(group);
    if (id == 0) continue;  // a convolution of one tap keeps nothing
    (spec.state ? shares.state_pools : shares.block_pools).push_back(id);
    if (spec.state)
      shares.state_bytes += id;
    else
      shares.token_bytes += std::int64_t(id) / spec.block_size_tokens;
  }
  if (shares.state_pools.empty())
    throw SpecError("engine.release", fmt::format("states without a byte are not planned for {}; take another release",
                                                  arrangement.rules->title));
  return shares;
}

/// Blocks of a request of the typical length; where checkpoints are kept, each state counts as a request of its part.
std::int64_t blocks_of(std::int64_t tokens, std::int64_t states, std::int64_t block) {
  Checked blocks = 0;
  for (std::int64_t i = 0; i < states; ++i) blocks += ceil_div(tokens / states + (i < tokens % states ? 1 : 0), block);
  return blocks;
}

/// Ids of both arenas by shares of the memory.
std::vector<std::int64_t> split_by_weight(PoolGroups& groups, const Shares& shares, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const std::int64_t requests = groups.max_requests > 0 ? groups.max_requests : default_requests;
  const std::int64_t states = Checked(requests) * groups.typical_states + 1;
  const std::int64_t blocks = Checked(requests) * groups.typical_blocks;
  std::int64_t of_blocks = Checked(grains_of(blocks, shares.block_pools, groups.grain_bytes)) * groups.grain_bytes;
  std::int64_t of_states = Checked(grains_of(states, shares.state_pools, groups.grain_bytes)) * groups.grain_bytes;
  const std::int64_t grains = engine.memory_bytes / groups.grain_bytes;
  const std::vector<GroupOfPools> rooms{
      {shares.block_pools, engine.state_memory_ratio ? 1.0 : static_cast<double>(of_blocks), 1},
      {shares.state_pools, engine.state_memory_ratio.value_or(static_cast<double>(of_states)),
       groups.max_requests > 0 ? groups.max_requests + 1 : 2}};
  inputs.log.add([&] {
    return Decision{{"grains", grains, ""}, "grains = floor(memory / grain); the engine takes one more for a rest",
                    {{"memory", engine.memory_bytes, "bytes"}, {"grain", groups.grain_bytes, "bytes"}},
                    inputs.log.cite(RuleOf::pool_groups)};
  });
  if (engine.state_memory_ratio) {
    inputs.log.add([&] {
      return Decision{{"weight of states over that of blocks", *engine.state_memory_ratio, ""},
                      "as set by the user, as kv_cache_config.pool_ratio does", {}, "engine.state_memory_ratio"};
    });
  } else {
    inputs.log.add([&] {
      return Decision{{"weight of blocks", of_blocks, "bytes"},
                      "weight = whole grains of requests * blocks of a typical request",
                      {{"requests", requests, ""}, {"blocks of a typical request", groups.typical_blocks, "blocks"}},
                      inputs.log.cite(RuleOf::pool_groups)};
    });
    inputs.log.add([&] {
      return Decision{{"weight of states", of_states, "bytes"},
                      "weight = whole grains of requests * states of a typical request + 1, that of the dummy request",
                      {{"requests", requests, ""}, {"states of a typical request", groups.typical_states, ""}},
                      inputs.log.cite(RuleOf::pool_groups)};
    });
  }
  return fill_groups(grains, rooms, groups.grain_bytes);
}

/// Ids of both arenas where every token takes its part of the checkpoints at multiples of the interval:
/// memory = requests * M + tokens * (a + M / interval).
std::vector<std::int64_t> split_by_interval(const PoolGroups& groups, const Shares& shares, std::int64_t block,
                                            const ArrangeInputs& inputs) {
  const Checked interval = groups.interval_tokens, memory = inputs.engine.memory_bytes;
  const Checked of_interval = shares.token_bytes * interval + shares.state_bytes;     // bytes of so many tokens
  std::int64_t requests = groups.max_requests;
  if (requests == 0) {
    const Checked of_request = Checked(groups.typical_tokens) * of_interval / interval + shares.state_bytes;
    requests = std::max<std::int64_t>(1, memory / of_request);
  }
  const Checked running = (Checked(requests) + 1) * shares.state_bytes;
  const std::int64_t tokens = memory > running ? std::int64_t((memory - running) * interval / of_interval) : 0;
  if (tokens < block)
    throw SpecError("engine.memory",
                    fmt::format("{} bytes are too few: the states of {} requests and of the dummy request take {}, "
                                "which leaves no block of {} tokens; give more memory, or a smaller "
                                "engine.max_running_requests",
                                std::int64_t(memory), requests, std::int64_t(running), block));
  const Term interval_term{"interval", interval, "tokens"};
  inputs.log.add([&] {
    return Decision{{"requests that are planned for", requests, ""},
                    groups.max_requests > 0 ? "as set by the user, as max_batch_size does"
                                            : "requests = floor(memory / (typical * (a + M / interval) + M))",
                    {{"memory", memory, "bytes"}, {"typical", groups.typical_tokens, "tokens"},
                     {"a", shares.token_bytes, "bytes"}, {"M", shares.state_bytes, "bytes"}, interval_term},
                    inputs.log.cite(RuleOf::periodic_checkpoints)};
  });
  inputs.log.add([&] {
    return Decision{{"tokens", tokens, "tokens"},
                    "tokens = floor((memory - (requests + 1) * M) / (a + M / interval)): + 1 is the dummy request",
                    {{"memory", memory, "bytes"}, {"requests", requests, ""}, {"M", shares.state_bytes, "bytes"},
                     {"a", shares.token_bytes, "bytes"}, interval_term},
                    inputs.log.cite(RuleOf::periodic_checkpoints)};
  });
  return {tokens / block, Checked(requests) + 1 + tokens / std::int64_t(interval)};
}

PoolGroups typical_of(const ArrangeInputs& inputs, std::int64_t block) {
  const EngineSpec& engine = inputs.engine;
  const auto& lengths = inputs.limits.max_model_lens;
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const std::optional<std::int64_t> typical = engine.own.find(group_key::avg_seq_len);
  PoolGroups groups;
  groups.grain_bytes = grain_of(engine.memory_bytes);
  groups.typical_tokens = typical.value_or(std::max<std::int64_t>(1, longest / 2));
  groups.typical_states = engine.cache_mode == CacheMode::none ? 1 : 2;
  groups.typical_blocks = blocks_of(groups.typical_tokens, groups.typical_states, block);
  groups.interval_tokens = engine.cache_mode == CacheMode::all ? checkpoint_interval(engine) : 0;
  groups.max_requests = engine.max_running_requests.value_or(0);
  inputs.log.add([&] {
    return Decision{{"grain", groups.grain_bytes, "bytes"},
                    "grain = 2 MiB << min(4, max(0, int(log2(memory / (512 * 2 MiB)))))",
                    {{"memory", engine.memory_bytes, "bytes"}}, inputs.log.cite(RuleOf::pool_groups)};
  });
  inputs.log.add([&] {
    return Decision{{"typical length", groups.typical_tokens, "tokens"},
                    typical ? "as set by the user" : "half the longest length that is asked about, or 1",
                    {{"longest", longest, "tokens"}}, "engine.avg_seq_len"};
  });
  inputs.log.add([&] {
    return Decision{{"states of a typical request", groups.typical_states, ""},
                    groups.typical_states == 1 ? "1: the running one"
                                               : "2: the running one and a snapshot at the end of the prompt",
                    {}, inputs.log.cite(RuleOf::pool_groups)};
  });
  inputs.log.add([&] {
    return Decision{{"blocks of a typical request", groups.typical_blocks, "blocks"},
                    "blocks = sum over its states of ceil(typical length / states / block): each counts as a request "
                    "of its part",
                    {{"typical length", groups.typical_tokens, "tokens"}, {"states", groups.typical_states, ""},
                     {"block", block, "tokens"}},
                    inputs.log.cite(RuleOf::pool_groups)};
  });
  inputs.log.add([&] {
    return Decision{{"interval", groups.interval_tokens, "tokens"},
                    groups.interval_tokens > 0 ? "as set, or 256: a snapshot at every multiple of it, mode all"
                                               : "0: no periodic snapshots but in mode all",
                    {}, "engine.mamba_state_cache_interval"};
  });
  inputs.log.add([&] {
    return Decision{{"requests of the engine", groups.max_requests, ""},
                    groups.max_requests > 0 ? "as set" : "0: not said; shares are made for the 2,048 of the engine", {},
                    "engine.max_running_requests"};
  });
  return groups;
}

}  // namespace

void arrange_pool_groups(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const BlockSizes blocks = tensor_pool_block_sizes(engine, inputs.log);
  arrangement.specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
  for (const bool states : {false, true}) {
    arrangement.arenas.push_back({states ? "states" : "blocks", 0, 0});
    for (const SpecPlan& spec : arrangement.specs)
      if (spec.state.has_value() == states) add_tensor_groups(arrangement, spec);
  }
  PoolGroups groups = typical_of(inputs, blocks.attention);
  const Shares shares = shares_of(arrangement);
  std::vector<std::int64_t> ids(2, engine.num_blocks.value_or(0));
  if (!engine.num_blocks)
    ids = groups.interval_tokens > 0 ? split_by_interval(groups, shares, blocks.attention, inputs)
                                     : split_by_weight(groups, shares, inputs);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ArenaPlan& arena = arrangement.arenas[i];
    require_addressable(ids[i], arena.bytes_per_id, "ids");
    arena.num_ids = ids[i];
    const char* rule = engine.num_blocks            ? "as set by the user"
                       : groups.interval_tokens > 0 ? i == 0 ? "ids = floor(tokens / block)"
                                                             : "ids = requests + 1 + floor(tokens / interval)"
                                                    : "the most slots that its grains hold: memory by weight, the "
                                                      "lighter group first";
    const RuleOf memory_rule = groups.interval_tokens > 0 ? RuleOf::periodic_checkpoints : RuleOf::pool_groups;
    inputs.log.add([&] {
      return Decision{{"ids of " + arena.name, ids[i], "ids"}, rule, {{"bytes of an id", arena.bytes_per_id, "bytes"}},
                      engine.num_blocks ? "engine.num_blocks" : inputs.log.cite(memory_rule)};
    });
  }
  arrangement.pool_groups = groups;
  place_side_by_side(arrangement);
  derive_own_pages(arrangement, inputs.log);
}

}  // namespace hybridkv
