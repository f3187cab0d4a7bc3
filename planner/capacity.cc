#include "planner/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/bisect.h"
#include "base/checked.h"
#include "planner/rank_tokens.h"

namespace hybridkv {

namespace {

std::int64_t ideal_request_bytes(const Arrangement& arrangement, std::int64_t tokens) {
  Checked bytes = 0;
  for (const SpecPlan& spec : arrangement.specs) {
    const auto layers = static_cast<std::int64_t>(spec.layers.size());
    if (spec.state) {
      bytes += Checked(layers) * spec.state->bytes;
    } else {
      bytes += Checked(layers) * spec.bytes_of_tokens(live_tokens_on_rank(arrangement, spec, tokens));
    }
  }
  return bytes;
}

/// num_blocks // groups * smallest block: what engines up to 0.20 print. Of several arenas the one that gives fewest
/// tokens, those of states alone not counted where there are others.
std::int64_t tokens_by_floor(const Arrangement& arrangement, std::int64_t max_model_len) {
  std::optional<std::int64_t> fewest;
  for (const bool states : {false, true}) {
    for (std::size_t arena = 0; arena < arrangement.arenas.size(); ++arena) {
      std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), groups = 0;
      bool only_states = true;
      for (const GroupPlan& group : arrangement.groups) {
        if (group.arena.index() != arena || (group.shares_table && !arrangement.cache_order)) continue;
        const SpecPlan& spec = arrangement.spec_of(group);
        ++groups;
        only_states = only_states && spec.state;
        const bool whole_sequence = spec.state && arrangement.cache_mode == CacheMode::none;
        smallest = std::min(smallest, whole_sequence ? max_model_len : spec.block_size_tokens);
      }
      if (only_states != states) continue;
      const std::int64_t tokens = Checked(arrangement.arenas[arena].num_ids / groups) * smallest;
      fewest = std::min(fewest.value_or(tokens), tokens);
    }
    if (fewest) break;
  }
  return fewest.value_or(0);
}

/// How many such requests the ids hold, the scarcest arena deciding.
double concurrency(const Demand& ids, const Demand& demand) {
  double most = std::numeric_limits<double>::infinity();
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    if (demand.ids[arena] > 0)
      most = std::min(most, static_cast<double>(ids.ids[arena]) / static_cast<double>(demand.ids[arena]));
  return most;
}

/// int(num_blocks / ids * length), in the double arithmetic of the engines so that their print is met exactly.
std::int64_t tokens_by_concurrency(double max_concurrency, std::int64_t max_model_len) {
  const double tokens = max_concurrency * static_cast<double>(max_model_len);
  if (tokens >= 0x1p63)
    throw InputError(fmt::format("number too large for 64 bits: {} KV cache tokens (concurrency {} at {} tokens)",
                                 tokens, max_concurrency, max_model_len));
  return static_cast<std::int64_t>(tokens);
}

}  // namespace

CapacityPlan capacity_at(const Arrangement& arrangement, std::int64_t max_model_len, TokenRule rule) {
  CapacityPlan capacity;
  const Demand demand = request_demand(arrangement, max_model_len);
  capacity.max_model_len = max_model_len;
  capacity.blocks_per_request = demand.total();
  capacity.bytes_per_request = bytes_of(arrangement, demand);
  capacity.ids_by_cause = ids_by_cause(arrangement, max_model_len);
  capacity.ideal_bytes_per_request = ideal_request_bytes(arrangement, max_model_len);
  capacity.fits = fits_as_engines_check(arrangement, demand) &&
                  (!arrangement.rows || max_model_len <= arrangement.rows->slot_cells);
  capacity.usable_concurrency = concurrency(usable_ids(arrangement), demand);
  // An engine with tree pools prints its slots without the dummies; of an engine that was read no print is known.
  const bool usable_alone = arrangement.tree_pools || arrangement.rules->source_only;
  capacity.max_concurrency =
      usable_alone ? capacity.usable_concurrency : concurrency(all_ids(arrangement), demand);
  capacity.kv_cache_tokens_by_concurrency = tokens_by_concurrency(capacity.max_concurrency, max_model_len);
  capacity.kv_cache_tokens_by_floor = tokens_by_floor(arrangement, max_model_len);
  capacity.kv_cache_tokens =
      rule == TokenRule::floor ? capacity.kv_cache_tokens_by_floor : capacity.kv_cache_tokens_by_concurrency;
  if (keeps_tensors_apart(arrangement.strategy)) capacity.kv_cache_tokens = capacity.kv_cache_tokens_by_floor;
  if (arrangement.tree_pools) capacity.kv_cache_tokens = arrangement.tree_pools->split.token_slots;
  return capacity;
}

std::int64_t running_requests(const Arrangement& arrangement, const Demand& demand) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
    if (demand.ids[arena] > 0) most = std::min(most, arrangement.arenas[arena].usable_ids() / demand.ids[arena]);
  }
  return most;
}

std::int64_t longest_context(const Arrangement& arrangement) {
  return arrangement.rows ? arrangement.rows->slot_cells - 1 : largest_tokens;
}

std::int64_t longest_request(const Arrangement& arrangement, double requests) {
  Demand share = usable_ids(arrangement);
  if (requests != 1)
    for (std::int64_t& ids : share.ids) ids = static_cast<std::int64_t>(static_cast<double>(ids) / requests);
  Demand demand = request_demand(arrangement, 1);
  if (!demand.is_within(share)) return 0;
  // Each spec gets at most the ids that are left when every other spec takes its fewest, which bounds the longest
  // request. Where only one spec of each arena grows with the length, as with one kind of attention, the bound is the
  // answer; otherwise it bounds the search.
  std::int64_t too_long = longest_context(arrangement);
  for (auto group = arrangement.groups.begin(); group != arrangement.groups.end();) {
    const SpecPlan& spec = arrangement.spec_of(*group);
    const std::size_t arena = group->arena.index();
    const GroupPlan& first = *group;
    std::int64_t tables = 0;  // the groups of a spec stand together
    for (; group != arrangement.groups.end() && needs_as_many(first, *group); ++group) tables += !group->shares_table;
    if (tables == 0) continue;  // it has the entries of the group before it
    const TableRule rule = table_rule(arrangement, spec);
    const Checked ids =
        Checked(ids_of_entries(first, table_entries(rule, 1))) + (share.ids[arena] - demand.ids[arena]) / tables;
    too_long = std::min(too_long, longest_in_entries(rule, entries_in_ids(first, ids)));
  }
  const auto holds = [&](std::int64_t tokens) {
    std::fill(demand.ids.begin(), demand.ids.end(), 0);
    add_request(arrangement, tokens, demand);
    return demand.is_within(share);
  };
  if (holds(too_long)) return too_long;
  return last_that(1, too_long, holds);
}

std::int64_t running_by_states(const Arrangement& arrangement) {
  Demand demand = no_demand(arrangement);
  for (const GroupPlan& group : arrangement.groups)
    if (arrangement.spec_of(group).state && !group.shares_table)
      demand.ids[group.arena.index()] += group_ids(arrangement, group, 1);
  return demand.total() == 0 ? 0 : running_requests(arrangement, demand);
}

}  // namespace hybridkv
