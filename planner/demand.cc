#include "planner/demand.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"

namespace hybridkv {

namespace {

std::int64_t recurrent_entries(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens) {
  switch (arrangement.cache_mode) {
    case CacheMode::none: return Checked(1) + arrangement.speculative_tokens;
    case CacheMode::align: return Checked(2) + arrangement.speculative_tokens;
    case CacheMode::all: return Checked(ceil_div(tokens, spec.block_size_tokens)) + arrangement.speculative_tokens;
  }
  throw std::logic_error("unknown cache mode");
}

bool suffice(const Arrangement& arrangement, const Demand& demand, std::int64_t (*ids)(const ArenaPlan&)) {
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    if (demand.ids[arena] > ids(arrangement.arenas[arena])) return false;
  return true;
}

Demand of_arenas(const Arrangement& arrangement, std::int64_t (*ids)(const ArenaPlan&)) {
  Demand demand = no_demand(arrangement);
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) demand.ids[arena] = ids(arrangement.arenas[arena]);
  return demand;
}

std::int64_t all_of(const ArenaPlan& arena) { return arena.num_ids; }
std::int64_t usable_of(const ArenaPlan& arena) { return arena.usable_ids(); }

}  // namespace

std::int64_t Demand::total() const {
  Checked sum = 0;
  for (const std::int64_t of_arena : ids) sum += of_arena;
  return sum;
}

Demand no_demand(const Arrangement& arrangement) {
  return {std::vector<std::int64_t>(arrangement.arenas.size(), 0)};
}

Demand all_ids(const Arrangement& arrangement) { return of_arenas(arrangement, all_of); }

Demand usable_ids(const Arrangement& arrangement) { return of_arenas(arrangement, usable_of); }

std::int64_t group_entries(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens) {
  if (spec.state) return recurrent_entries(arrangement, spec, tokens);
  const std::int64_t window = spec.attention->window_tokens;
  switch (spec.attention->kind) {
    case AttentionKind::full:
    case AttentionKind::hidden_state:
    case AttentionKind::mla: return ceil_div(tokens, spec.block_size_tokens);
    case AttentionKind::sliding_window: {
      const std::int64_t live = Checked(window) - 1 + arrangement.max_num_batched_tokens;
      return ceil_div(std::min(live, tokens), spec.block_size_tokens) + 1;
    }
    case AttentionKind::chunked_local: {
      const std::int64_t live = Checked(window) + arrangement.max_num_batched_tokens;
      return ceil_div(std::min(live, tokens), spec.block_size_tokens);
    }
  }
  throw std::logic_error("unknown attention kind");
}

std::int64_t group_ids(const Arrangement& arrangement, const GroupPlan& group, std::int64_t tokens) {
  return Checked(group_entries(arrangement, arrangement.spec_of(group), tokens)) * group.ids_per_entry;
}

Demand request_demand(const Arrangement& arrangement, std::int64_t tokens) {
  return load_demand(arrangement, {&tokens, 1});
}

Demand load_demand(const Arrangement& arrangement, std::span<const std::int64_t> tokens) {
  Demand demand = no_demand(arrangement);
  for (const std::int64_t of_request : tokens) add_request(arrangement, of_request, demand);
  return demand;
}

void add_request(const Arrangement& arrangement, std::int64_t tokens, Demand& demand) {
  std::int64_t spec = -1, ids = 0;  // the groups of a spec stand together and need the same
  for (const GroupPlan& group : arrangement.groups) {
    if (group.spec != spec) {
      spec = group.spec;
      ids = group_ids(arrangement, group, tokens);
    }
    std::int64_t& all = demand.ids[group.arena.index()];
    all = Checked(all) + ids;
  }
  demand.ids[0] = Checked(demand.ids[0]) + arrangement.extra_ids_per_request();
}

bool fits(const Arrangement& arrangement, const Demand& demand) {
  return suffice(arrangement, demand, usable_of);
}

bool fits_as_engines_check(const Arrangement& arrangement, const Demand& demand) {
  return suffice(arrangement, demand, all_of);
}

std::int64_t bytes_of(const Arrangement& arrangement, const Demand& demand) {
  Checked bytes = 0;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    bytes += Checked(demand.ids[arena]) * arrangement.arenas[arena].bytes_per_id;
  return bytes;
}

std::string ids_text(const Arrangement& arrangement, const Demand& demand) {
  if (arrangement.is_uniform()) return fmt::format("{} blocks", demand.ids.front());
  std::string text;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    text += fmt::format("{}{}{} of {}", arena == 0 ? "" : arena + 1 < demand.ids.size() ? ", " : " and ",
                        human_count(demand.ids[arena]), arena == 0 ? " ids" : "", arrangement.arenas[arena].name);
  return text;
}

}  // namespace hybridkv
