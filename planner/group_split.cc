#include "planner/group_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/bisect.h"
#include "base/checked.h"
#include "base/error.h"
#include "planner/grain_split.h"

namespace hybridkv {

namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& pools) {
  Checked sum = 0;
  for (const std::int64_t bytes : pools) sum += bytes;
  return sum;
}

/// Snapshots of a prompt of L tokens that the split counts with. Intervals and branches count nothing.
std::int64_t counted_snapshots(const GroupQuota& quota) {
  std::set<std::int64_t> start, end;
  for (const std::int64_t offset : quota.points.from_start)
    if (offset <= quota.typical_tokens) start.insert(offset);
  for (const std::int64_t offset : quota.points.from_end)
    if (offset < quota.typical_tokens) end.insert(offset);
  return std::ssize(start) + std::ssize(end);
}

/// All that are asked for, whatever L is.
std::int64_t asked_snapshots(const GroupQuota& quota) {
  const auto different = [](const std::vector<std::int64_t>& offsets) {
    return std::ssize(std::set<std::int64_t>(offsets.begin(), offsets.end()));
  };
  return different(quota.points.from_start) + different(quota.points.from_end);
}

std::int64_t interval_of(const GroupQuota& quota) { return quota.points.interval_tokens; }
std::int64_t cell_bytes(const GroupQuota& quota) { return quota.block_bytes() / quota.block_tokens; }

/// Grains that the least ids of both groups take.
std::int64_t least_grains(const GroupQuota& quota, std::int64_t grain) {
  return Checked(grains_of(quota.least_states(), quota.state_pools, grain)) + grains_of(1, quota.block_pools, grain);
}

std::int64_t grains_of_memory(const GroupQuota& quota) {
  return ceil_div(quota.memory_bytes, grain_of(quota.memory_bytes));
}

/// What the engine says that it needs; where there is as much, memory whose whole grains hold the least pools.
std::int64_t least_in_grains(const GroupQuota& quota) {
  const std::int64_t least = least_memory(quota);
  if (quota.memory_bytes < least) return least;
  const std::int64_t grain = grain_of(quota.memory_bytes);
  return Checked(least_grains(quota, grain) - 1) * grain + 1;
}

/// Does the second manager start?
bool starts(const GroupQuota& quota) {
  const std::int64_t grain = grain_of(quota.memory_bytes);
  return quota.memory_bytes >= least_memory(quota) && grains_of_memory(quota) >= least_grains(quota, grain);
}

/// A token, with its part of a snapshot.
std::int64_t token_of_first_manager(const GroupQuota& quota) {
  const std::int64_t interval = interval_of(quota);
  return Checked(cell_bytes(quota)) + (interval > 0 ? quota.state_bytes() / interval : std::int64_t(0));
}

bool starts_first_manager(const GroupQuota& quota) { return first_manager_tokens(quota) >= quota.block_tokens; }

/// Shares of states and of blocks, as set or in bytes of the device, whichever pools they are for.
std::array<double, 2> split_weights(const GroupQuota& quota) {
  if (quota.shares) return *quota.shares;
  const std::array<std::int64_t, 2> bytes = weights_of(quota);
  return {static_cast<double>(bytes[0]), static_cast<double>(bytes[1])};
}

/// Ids of both groups in so many grains. Pre: these hold the least.
GroupIds ids_in_grains(const GroupQuota& quota, std::int64_t grains, std::int64_t grain) {
  const std::int64_t floor = quota.least_states();
  const auto [states, blocks] = split_weights(quota);
  const std::vector<GroupOfPools> groups{{quota.state_pools, states, floor}, {quota.block_pools, blocks, 1}};
  const std::vector<std::int64_t> ids = fill_groups(grains, groups, grain);
  const bool is_pinned =
      quota.shares && grains_of_share(grains, groups, 0) <= grains_of(floor, quota.state_pools, grain);
  return {is_pinned ? floor : ids[0], ids[1]};
}

/// The refusal, with what starts: memory, or fewer requests.
SpecError too_small(const GroupQuota& quota, std::int64_t least, bool (*starts_with)(const GroupQuota& quota)) {
  const std::int64_t fitting = last_that(0, quota.requests + 1, [&](std::int64_t requests) {
    GroupQuota fewer = quota;
    fewer.requests = requests;
    return requests == 0 || starts_with(fewer);
  });
  const std::string fewer =
      fitting == 0 ? "" : fmt::format(", or set engine.max_batch_size, 2048 by default, to {} or fewer", fitting);
  return SpecError("engine.memory",
                   fmt::format("{} bytes are too few: the engine keeps a state of {} bytes for each of {} requests and "
                               "{} more, and a block, and starts with {} bytes at least; give as much{}",
                               quota.memory_bytes, quota.state_bytes(), quota.requests, quota.dummies, least, fewer));
}

}  // namespace

std::int64_t GroupQuota::state_bytes() const { return sum_of(state_pools); }
std::int64_t GroupQuota::block_bytes() const { return sum_of(block_pools); }

TypicalRequests typical_requests(const GroupQuota& quota) {
  const std::int64_t parts = 1 + counted_snapshots(quota), tokens = quota.typical_tokens;
  Checked blocks = 0;
  for (std::int64_t i = 0; i < parts; ++i)
    blocks += ceil_div(tokens / parts + (i < tokens % parts ? 1 : 0), quota.block_tokens);
  return {parts, blocks};
}

std::int64_t least_memory(const GroupQuota& quota) {
  return Checked(quota.least_states()) * quota.state_bytes() + quota.block_bytes();
}

std::int64_t estimate_bytes(const GroupQuota& quota) {
  const std::int64_t snapshots = Checked(quota.requests) * asked_snapshots(quota);
  const Checked states = Checked(quota.least_states()) + snapshots;
  const bool is_cut = snapshots > 0 || interval_of(quota) > 0;
  return states * quota.state_bytes() + (is_cut ? Checked(quota.requests) * quota.block_bytes() : Checked(0));
}

std::int64_t estimate_token_bytes(const GroupQuota& quota) {
  const std::int64_t interval = interval_of(quota);
  return Checked(cell_bytes(quota)) + (interval > 0 ? ceil_div(quota.state_bytes(), interval) : std::int64_t(0));
}

std::array<std::int64_t, 2> weights_of(const GroupQuota& quota) {
  const std::int64_t grain = grain_of(quota.memory_bytes);
  const TypicalRequests one = typical_requests(quota);
  const std::int64_t states = Checked(quota.requests) * one.states + quota.dummies;
  const std::int64_t blocks = Checked(quota.requests) * one.blocks;
  return {Checked(grains_of(states, quota.state_pools, grain)) * grain,
          Checked(grains_of(blocks, quota.block_pools, grain)) * grain};
}

GroupIds split_groups(const GroupQuota& quota) {
  if (!starts(quota)) throw too_small(quota, least_in_grains(quota), starts);
  return ids_in_grains(quota, grains_of_memory(quota), grain_of(quota.memory_bytes));
}

std::int64_t shared_host_bytes(const GroupQuota& quota) {
  if (quota.host_bytes == 0) return 0;
  const std::int64_t asked = ceil_div(quota.host_bytes, host_page_bytes);
  return Checked(std::max(asked, least_grains(quota, host_page_bytes))) * host_page_bytes;
}

GroupIds split_host(const GroupQuota& quota) {
  return ids_in_grains(quota, shared_host_bytes(quota) / host_page_bytes, host_page_bytes);
}

std::int64_t first_manager_tokens(const GroupQuota& quota) {
  const std::int64_t left = Checked(quota.memory_bytes) - Checked(quota.requests) * quota.state_bytes();
  return left <= 0 ? 0 : left / token_of_first_manager(quota);
}

GroupIds split_first_manager(const GroupQuota& quota) {
  const std::int64_t interval = interval_of(quota), tokens = first_manager_tokens(quota);
  if (!starts_first_manager(quota)) {
    const Checked running = Checked(quota.requests) * quota.state_bytes();
    throw too_small(quota, running + Checked(token_of_first_manager(quota)) * quota.block_tokens, starts_first_manager);
  }
  return {Checked(quota.least_states()) + (interval > 0 ? tokens / interval : std::int64_t(0)),
          tokens / quota.block_tokens};
}

}  // namespace hybridkv
