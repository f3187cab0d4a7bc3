#include "simulator/blocks/cache_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "planner/engine_rules.h"
#include "simulator/blocks/block_rules.h"
#include "simulator/blocks/geometry_limits.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_back = 1'000'000;

/// What the blocks are joined to, with std::gcd or std::lcm, in order: attention groups, then states.
template <class Join>
std::int64_t joined(std::int64_t first, const CacheGeometry& geometry, bool attention, bool states, Join&& join) {
  std::int64_t value = first;
  if (attention && geometry.attention_groups > 0) {
    if (geometry.attention_block_sizes.empty()) value = join(value, geometry.block_size_tokens);
    for (const std::int64_t block : geometry.attention_block_sizes) value = join(value, block);
  }
  if (states && geometry.has_state_blocks()) value = join(value, geometry.state_block());
  return value;
}

std::int64_t gcd_of(std::int64_t a, std::int64_t b) { return std::gcd(a, b); }
std::int64_t lcm_of(std::int64_t a, std::int64_t b) { return std::lcm(a, b); }

void check_per_group(const std::vector<std::int64_t>& values, std::int64_t groups, std::int64_t least,
                     std::int64_t most, const char* field, const char* what) {
  if (!values.empty() && std::ssize(values) != groups)
    throw SpecError(fmt::format("geometry.{}", field),
                    fmt::format("{} numbers for {} {} groups; give one for each, or none", values.size(), groups,
                                what));
  for (const std::int64_t value : values) check_range(value, least, most, field);
}

void check_arenas(const CacheGeometry& geometry) {
  check_range(geometry.num_arenas() - 1, 0, most_cache_groups, "more_arenas");
  for (const std::int64_t blocks : geometry.more_arenas) check_range(blocks, 2, most_cache_blocks, "more_arenas");
  const std::int64_t last = geometry.num_arenas() - 1;
  check_per_group(geometry.attention_arenas, geometry.attention_groups, 0, last, "attention_arenas", "attention");
  check_per_group(geometry.state_arenas, geometry.state_groups, 0, last, "state_arenas", "recurrent");
  for (const HeldGroup& group : geometry.held_groups) {
    check_range(group.arena, 0, last, "held_groups");
    check_range(group.tables, 1, most_cache_blocks, "held_groups");
    check_range(group.rule.block_tokens, group.rule.is_windowed() ? 1 : 0, most_cache_tokens, "held_groups");
    if (group.rule.is_windowed()) check_range(group.rule.mask.window_tokens, 1, most_cache_tokens, "held_groups");
  }
  if (!geometry.shares_large_pages()) return;
  if (std::ssize(geometry.blocks_per_large_page) != geometry.num_arenas())
    throw SpecError("geometry.blocks_per_large_page",
                    fmt::format("{} numbers for {} arenas; give one for each, or none",
                                geometry.blocks_per_large_page.size(), geometry.num_arenas()));
  for (const std::int64_t blocks : geometry.blocks_per_large_page)
    check_range(blocks, 1, most_cache_blocks, "blocks_per_large_page");
  const std::int64_t pages = geometry.num_large_pages();
  check_range(pages, 2, most_cache_blocks, "num_blocks");
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    if (const std::int64_t each = geometry.blocks_per_large_page[static_cast<std::size_t>(arena)];
        each > most_cache_blocks / pages || geometry.arena_blocks(arena) != pages * each)
      throw SpecError("geometry.blocks_per_large_page",
                      fmt::format("arena {} has {} blocks, and {} large pages of {} of them are another number; give "
                                  "every arena the blocks of the same large pages", arena,
                                  geometry.arena_blocks(arena), pages, each));
  if (geometry.extra_blocks_per_request > 0 || !geometry.held_groups.empty())
    throw SpecError("geometry.extra_blocks_per_request",
                    "rings and tails lie in blocks of arena 0, and large pages have none for them; take 0");
}

void check_blocks(const CacheGeometry& geometry) {
  check_per_group(geometry.attention_block_sizes, geometry.attention_groups, 1, most_cache_tokens,
                  "attention_block_sizes", "attention");
  check_range(geometry.state_block(), 1, most_cache_tokens, "state_block_size_tokens");
  joined(1, geometry, true, true, [](std::int64_t a, std::int64_t b) {
    if (b / std::gcd(a, b) > most_cache_tokens / a)
      throw SpecError("geometry.attention_block_sizes",
                      fmt::format("blocks of {} and {} tokens end at the same token only behind {} tokens, so no "
                                  "prefix would ever be found in all groups; take blocks that divide one another",
                                  a, b, most_cache_tokens));
    return std::lcm(a, b);
  });
}

void check_match_unit(const CacheGeometry& geometry) {
  const std::int64_t unit = geometry.match_unit(), common = geometry.common_block();
  check_range(unit, 1, common, "match_unit_tokens");
  if (common % unit == 0) return;
  throw SpecError("geometry.match_unit_tokens",
                  geometry.has_unequal_blocks()
                      ? fmt::format("{} does not divide the block of every group; take a divisor of {}", unit, common)
                      : fmt::format("{} does not divide the block of {} tokens", unit, common));
}

void check_policy(const CacheGeometry& geometry) {
  const SchedulerSettings& settings = geometry.scheduler;
  if (!settings.evicts_as_engines() && !ranks_prefixes(geometry))
    throw SpecError("geometry.eviction",
                    geometry.shares_large_pages()
                        ? "arenas that share large pages evict page by page, the oldest first; take lru"
                        : fmt::format("{} ranks prefixes by their states, and this cache keeps none; take lru",
                                      settings.eviction_name()));
  if (settings.own_policy && settings.eviction != EvictionPolicy::lru)
    throw SpecError("geometry.eviction", fmt::format("{} and a policy of one's own, {}: give one of the two",
                                                     to_string(settings.eviction), settings.own_policy->name));
  check_range(settings.checkpoint_back, 0, most_back, "checkpoint_back");
  if (settings.checkpoint_back > 0 && !geometry.rules.blocks->cuts_to_blocks(geometry)) {
    const auto all = all_engine_rules();
    const auto is_plain = [](const EngineRules* rules) { return !rules->match_units; };
    const auto plain = std::find_if(all.begin(), all.end(), is_plain);
    throw SpecError("geometry.checkpoint_back",
                    fmt::format("the last state of a prompt is moved in mode align by the rules of {} alone; take 0",
                                (*plain)->name));
  }
}

void check_host(const CacheGeometry& geometry) {
  const HostSettings& host = *geometry.host;
  if (host.memory_bytes.value_or(1) < 1)
    throw SpecError("geometry.host_memory", fmt::format("must be at least 1 byte, is {}", *host.memory_bytes));
  if (const double share = host.state_share.value_or(0); !(share >= 0 && share <= 1))
    throw SpecError("geometry.host_state_share", fmt::format("is a share from 0 to 1, not {}", share));
  if (!(host.bytes_per_second > 0))
    throw SpecError("geometry.host_bandwidth", fmt::format("must be more than 0, is {}", host.bytes_per_second));
  const char* kind = geometry.shares_large_pages()         ? "large pages"
                     : !geometry.attention_masks.empty()   ? "windows"
                     : geometry.has_partial_tails()        ? "prefixes that end within a block"
                     : geometry.drafter_drops_block || geometry.rules.lookahead_tokens > 0 ? "a drafter"
                     : !geometry.scheduler.evicts_as_engines()              ? "other policies than lru"
                                                                          : nullptr;
  if (kind) throw host_refusal(kind);
  if (std::ssize(host.block_bytes) != geometry.num_arenas())
    throw SpecError("geometry.host_memory",
                    "what a block takes on the host follows from a plan, and this cache has none; name a scenario");
}

}  // namespace

void check_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* field) {
  if (value < least || value > most)
    throw SpecError(fmt::format("geometry.{}", field), fmt::format("must be {} to {}, is {}", least, most, value));
}

std::int64_t CacheGeometry::match_unit() const {
  if (match_unit_tokens && rules.blocks->takes_match_unit(*this)) return *match_unit_tokens;
  return one_block() ? block_size_tokens : common_block();
}

bool CacheGeometry::has_partial_tails() const { return rules.blocks->has_partial_tails(*this); }

std::int64_t CacheGeometry::total_blocks() const {
  return std::accumulate(more_arenas.begin(), more_arenas.end(), num_blocks);
}

void CacheGeometry::set_large_pages(std::int64_t pages) {
  num_blocks = Checked(pages) * blocks_per_large_page.front();
  for (std::size_t arena = 1; arena < blocks_per_large_page.size(); ++arena)
    more_arenas[arena - 1] = Checked(pages) * blocks_per_large_page[arena];
}

std::int64_t CacheGeometry::common_block() const {
  const std::int64_t common = joined(0, *this, true, true, gcd_of);
  return common == 0 ? block_size_tokens : common;
}

std::int64_t CacheGeometry::checkpoint_alignment() const {
  constexpr std::int64_t of_gdn_with_unit = 64;
  if (!rules.exports_gdn) return rules.checkpoint_alignment;
  const std::int64_t of_gdn = match_unit_tokens ? checked_lcm(*match_unit_tokens, of_gdn_with_unit) : state_block();
  return checked_lcm(rules.checkpoint_alignment, of_gdn);
}

std::int64_t CacheGeometry::attention_grain() const { return joined(1, *this, true, false, lcm_of); }

std::int64_t CacheGeometry::common_multiple() const {
  return attention_groups == 0 && !has_state_blocks() ? block_size_tokens : joined(1, *this, true, true, lcm_of);
}

bool CacheGeometry::has_unequal_blocks() const { return common_multiple() > common_block(); }

std::int64_t HeldGroup::blocks(std::int64_t tokens) const { return Checked(table_entries(rule, tokens)) * tables; }

TableRule CacheGeometry::attention_table(std::int64_t group) const {
  const KeyMask mask = is_windowed(group) ? attention_masks[static_cast<std::size_t>(group)] : KeyMask{};
  return table_of_tokens(mask, attention_block(group), 1,
                         {.batch = in_flight_tokens.value_or(max_num_batched_tokens),
                          .looked_ahead = rules.lookahead_tokens});
}

TableRule CacheGeometry::state_table() const {
  if (has_own_checkpoints()) return table_of_checkpoints(state_block(), draft_states());
  return table_of_states(mode, state_block(), draft_states(), rules.checkpoint_blocks);
}

std::int64_t CacheGeometry::attention_step() const {
  return has_partial_tails() ? match_unit() : attention_grain();
}

std::int64_t CacheGeometry::resume_step() const {
  return has_partial_tails() ? match_unit() : common_multiple();
}

bool CacheGeometry::depends_on_retention() const {
  if (has_state_blocks()) return true;
  if (!rules.blocks->retains_windows() || !caches_prefixes()) return false;
  for (std::int64_t group = 0; group < attention_groups; ++group)
    if (is_windowed(group)) return true;
  return false;
}

std::int64_t CacheGeometry::own_checkpoint_step() const {
  return has_partial_tails() ? state_block() : std::lcm(state_block(), attention_grain());
}

void validate(const CacheGeometry& geometry) {
  check_range(geometry.block_size_tokens, 1, most_cache_tokens, "block_size_tokens");
  check_range(geometry.num_blocks, 2, most_cache_blocks, "num_blocks");
  check_range(geometry.attention_groups, 0, most_cache_groups, "attention_groups");
  check_range(geometry.state_groups, 0, most_cache_groups, "state_groups");
  check_arenas(geometry);
  check_blocks(geometry);
  if (!geometry.attention_masks.empty() && std::ssize(geometry.attention_masks) != geometry.attention_groups)
    throw SpecError("geometry.attention_masks",
                    fmt::format("{} masks for {} attention groups; give one for each, or none",
                                geometry.attention_masks.size(), geometry.attention_groups));
  for (const KeyMask& mask : geometry.attention_masks)
    if (mask.kind != MaskKind::full) check_range(mask.window_tokens, 1, most_cache_tokens, "attention_masks");
  if (geometry.attention_groups + geometry.state_groups == 0)
    throw SpecError("geometry.attention_groups", "a cache has at least one attention or state group");
  check_range(geometry.speculative_tokens, 0, most_cache_blocks, "speculative_tokens");
  check_range(geometry.extra_blocks_per_request, 0, most_cache_blocks, "extra_blocks_per_request");
  check_range(geometry.max_num_batched_tokens, 1, most_cache_tokens, "max_num_batched_tokens");
  check_range(geometry.scheduler.long_prefill_threshold, 0, most_cache_tokens, "long_prefill_threshold");
  check_range(geometry.scheduler.max_num_seqs, 1, most_cache_tokens, "max_num_seqs");
  check_range(geometry.scheduler.most_running(), 1, geometry.scheduler.max_num_seqs, "max_num_active_seqs");
  if (geometry.scheduler.long_prefill_threshold_adaptive && !geometry.rules.blocks->adapts_thresholds())
    throw SpecError("geometry.long_prefill_threshold_adaptive",
                    fmt::format("{} has a fixed limit; leave it out", geometry.rules.engine->title));
  check_range(geometry.in_flight_tokens.value_or(1), 1, most_cache_tokens, "in_flight_tokens");
  if (!(geometry.scheduler.acceptance >= 0 && geometry.scheduler.acceptance <= 1))
    throw SpecError("geometry.acceptance", fmt::format("is a chance from 0 to 1, not {}",
                                                       geometry.scheduler.acceptance));
  if (!(geometry.scheduler.watermark >= 0 && geometry.scheduler.watermark < 1))
    throw SpecError("geometry.watermark", fmt::format("is a share of the pool from 0 to below 1, not {}",
                                                      geometry.scheduler.watermark));
  check_range(geometry.scheduler.max_model_len.value_or(1), 1, INT64_MAX, "max_model_len");
  check_range(geometry.retention_interval_tokens.value_or(0), 0, most_cache_tokens, "retention_interval_tokens");
  check_match_unit(geometry);
  check_policy(geometry);
  geometry.rules.blocks->validate(geometry);
  if (geometry.host) check_host(geometry);
}

SpecError host_refusal(std::string_view kind) {
  return {"geometry.host_memory", fmt::format("blocks with {} are not loaded from the host here; leave it out", kind)};
}

bool ranks_prefixes(const CacheGeometry& geometry) {
  return geometry.has_state_blocks() && !geometry.shares_large_pages();
}

}  // namespace hybridkv
