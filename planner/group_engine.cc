#include "planner/group_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "planner/group_settings.h"
#include "planner/tensor_pool_rules.h"

namespace hybridkv {

namespace {

constexpr double sum_tolerance = 1e-3;

/// A setting under its own name and under one that engines share.
void refuse_two_names(const std::optional<std::int64_t>& own, const std::optional<std::int64_t>& shared,
                      std::string_view name, std::string_view shared_name) {
  if (own && shared && *own != *shared)
    throw SpecError(fmt::format("engine.{}", name), fmt::format("is {}, and engine.{}, the same setting, is {}; leave "
                                                                "one out", *own, shared_name, *shared));
}

void refuse_group_numbers(const EngineSpec& engine) {
  const OwnSettings& own = engine.own;
  refuse_two_names(own.find(group_key::max_batch_size), engine.max_running_requests, "max_batch_size",
                   "max_running_requests");
  refuse_two_names(own.find(group_key::tokens_per_block), engine.block_size_tokens, "tokens_per_block",
                   "block_size_tokens");
  refuse_two_names(own.find(group_key::mamba_state_cache_interval), own.find(group_key::periodic_snapshot_interval),
                   "mamba_state_cache_interval", "periodic_snapshot_interval");
  if (const std::int64_t requests = max_batch_size(engine); requests < 1 || requests > largest_count)
    throw SpecError("engine.max_running_requests", fmt::format("is {}; allowed: 1 to {}", requests, largest_count));
  const std::int64_t block = tokens_per_block(engine);
  if ((block & (block - 1)) != 0 || block < 2)
    throw SpecError(own.find(group_key::tokens_per_block) ? "engine.tokens_per_block" : "engine.block_size_tokens",
                    fmt::format("is {}; tokens_per_block of {} is a power of two above 1, 32 unless set", block,
                                engine.rules->title));
}

void refuse_shares(const EngineSpec& engine) {
  const auto shares = engine.own.find(group_key::pool_ratio);
  if (!shares) return;
  const auto refuse = [](const std::string& why) { throw SpecError("engine.pool_ratio", why); };
  if (engine.state_memory_ratio) refuse("and engine.state_memory_ratio are the same setting; leave one out");
  if (shares->size() != 2)
    refuse(fmt::format("has {} weights; there are two groups, of states and of attention, in the order in which their "
                       "layers first occur", shares->size()));
  const double sum = (*shares)[0] + (*shares)[1];
  if (!((*shares)[0] > 0 && (*shares)[1] > 0) || std::abs(sum - 1) > sum_tolerance)
    refuse(fmt::format("is [{}, {}]; weights are above 0 and their sum is 1", (*shares)[0], (*shares)[1]));
}

/// The first manager has snapshots at intervals alone, and sizes by them.
void refuse_of_first_manager(const EngineSpec& engine) {
  if (engine.own[group_key::use_kv_cache_manager_v2]) return;
  const auto refuse = [](std::string_view key, std::string_view why) {
    throw SpecError(fmt::format("engine.{}", key),
                    fmt::format("{}; leave it out, or set engine.use_kv_cache_manager_v2: true", why));
  };
  for (const auto* offsets : {&group_key::offsets_from_start, &group_key::offsets_from_end})
    if (!engine.own[*offsets].empty()) refuse(offsets->name, "is refused by the first manager: it has intervals alone");
  if (engine.own[group_key::enable_branch_snapshot])
    refuse("enable_branch_snapshot", "is not in the first manager");
  if (engine.own.find(group_key::pool_ratio)) refuse("pool_ratio", "is not in the first manager");
  if (engine.state_memory_ratio) refuse("state_memory_ratio", "is not in the first manager");
  if (engine.own.find(group_key::host_cache_size))
    refuse("host_cache_size", "is planned of the second manager alone: what the first one keeps there is not known");
}

/// Shares of states and of blocks, where they are set.
std::optional<std::array<double, 2>> shares_of(const ModelSpec& model, const EngineSpec& engine) {
  if (const auto ratio = engine.state_memory_ratio) return std::array{*ratio / (1 + *ratio), 1 / (1 + *ratio)};
  const auto shares = engine.own.find(group_key::pool_ratio);
  if (!shares) return std::nullopt;
  const auto first = std::find_if(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.attention.has_value() || layer.recurrent.has_value();
  });
  const bool states_first = first != model.layers.end() && first->recurrent.has_value();
  return states_first ? std::array{(*shares)[0], (*shares)[1]} : std::array{(*shares)[1], (*shares)[0]};
}

/// Bytes of an id in each pool of one kind; tensors of one size lie in one pool.
std::vector<std::int64_t> pools_of(const Arrangement& arrangement, bool states) {
  std::vector<std::int64_t> pools, pages;
  for (const GroupPlan& group : arrangement.groups) {
    if (arrangement.spec_of(group).state.has_value() != states) continue;
    const std::int64_t page = arrangement.page_bytes(group);
    const std::int64_t bytes = Checked(std::ssize(group.pages)) * page;
    if (bytes == 0) continue;  // a convolution of one tap keeps nothing
    const auto same = std::find(pages.begin(), pages.end(), page);
    if (states && same != pages.end()) {
      std::int64_t& joined = pools[static_cast<std::size_t>(same - pages.begin())];
      joined = Checked(joined) + bytes;
      continue;
    }
    pages.push_back(page);
    pools.push_back(bytes);
  }
  return pools;
}

}  // namespace

void validate_pool_groups(const ModelSpec& model, const EngineSpec& engine) {
  refuse_group_numbers(engine);
  refuse_shares(engine);
  refuse_of_first_manager(engine);
  refuse_unplanned_layers(model, engine);
}

BlockSizes group_block_sizes(const EngineSpec& engine, const DerivationLog& log) {
  const BlockSizes sizes{tokens_per_block(engine), tokens_per_block(engine)};
  for (const char* symbol : {"B", "C"})
    log.add([&] {
      return Decision{{symbol, sizes.attention, "tokens"}, "tokens_per_block, as set or 32", {},
                      log.cite(RuleOf::blocks)};
    });
  return sizes;
}

GroupQuota group_quota(const Arrangement& arrangement, const ModelSpec& model, const EngineSpec& engine,
                       const LimitsSpec& limits) {
  const std::int64_t longest = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
  GroupQuota quota;
  quota.memory_bytes = engine.memory_bytes;
  quota.requests = max_batch_size(engine);
  quota.block_tokens = tokens_per_block(engine);
  quota.typical_tokens =
      engine.own.find(group_key::avg_seq_len).value_or(std::max<std::int64_t>(1, longest / 2));
  quota.points = snapshot_points(engine);
  quota.state_pools = pools_of(arrangement, true);
  quota.block_pools = pools_of(arrangement, false);
  quota.shares = shares_of(model, engine);
  quota.host_bytes = engine.own.find(group_key::host_cache_size).value_or(0);
  if (quota.state_pools.empty())
    throw SpecError("engine.release", fmt::format("states without a byte are not planned for {}; take another release",
                                                  engine.rules->title));
  return quota;
}

}  // namespace hybridkv
