#include "audit/recording_fault.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "audit/owned_states.h"

namespace hybridkv {

namespace {

using Events = std::vector<RecordedEvent>;

const OwningRequest* in_flight(const OwnedCache& cache, std::int64_t request) {
  const auto found = cache.requests.find(request);
  return found == cache.requests.end() ? nullptr : &found->second;
}

/// The first group of K and V that all later tokens see, or the first of states; -1: none.
std::int64_t group_with(const OwnedCache& cache, RecordedKind kind) {
  for (std::int64_t group = 0; group < std::ssize(cache.recording.groups); ++group)
    if (cache.recording.groups[static_cast<std::size_t>(group)].kind == kind) return group;
  return -1;
}

const std::vector<std::int64_t>& table_of(const OwningRequest& request, std::int64_t group) {
  return request.tables[static_cast<std::size_t>(group)];
}

/// Calls visit(run, request, group) for the runs of a step until it gives events in place of it. `group`: of that kind.
template <class Visit>
Events in_runs(const OwnedCache& cache, const RecordedEvent& event, RecordedKind kind, Visit&& visit) {
  const auto* const computed = std::get_if<ComputeEvent>(&event);
  const std::int64_t group = group_with(cache, kind);
  if (!computed || group < 0) return {};
  for (std::size_t i = 0; i < computed->runs.size(); ++i) {
    const OwningRequest* const request = in_flight(cache, computed->runs[i].request);
    if (!request) continue;
    ComputeEvent changed = *computed;
    Events events = visit(changed, changed.runs[i], *request, group);
    if (!events.empty()) return events;
  }
  return {};
}

/// The same where only the states that a run uses are other ones.
template <class Change>
Events with_states(const OwnedCache& cache, const RecordedEvent& event, Change&& change) {
  return in_runs(cache, event, RecordedKind::state,
                 [&](ComputeEvent& changed, RecordedRun& run, const OwningRequest& request, std::int64_t group) {
                   RecordedStateUse use = states_of(cache, request, group, run);
                   if (use.to.empty() || use.to.back().block < 0 || run.drafts > 0) return Events{};
                   if (!change(run, use)) return Events{};
                   run.states.push_back(std::move(use));
                   return Events{changed};
                 });
}

/// The smallest block of a group's arena that holds what `wanted` wants; -1: none.
template <class Wanted>
std::int64_t block_with(const OwnedCache& cache, std::int64_t group, Wanted&& wanted) {
  std::int64_t best = -1;
  for (const auto& [number, block] : cache.blocks[static_cast<std::size_t>(cache.group(group).arena)])
    if (!block.ranks.empty() && block.ranks.front().group == group && wanted(block.ranks.front()) &&
        (best < 0 || number < best))
      best = number;
  return best;
}

/// `find` of one column, with another block in its place.
template <class Other>
Events found_instead(const OwnedCache& cache, const RecordedEvent& event, RecordedKind kind, Other&& other) {
  const auto* const table = std::get_if<TableEvent>(&event);
  if (!table || table->change != TableChange::found || cache.group(table->group).kind != kind) return {};
  const OwningRequest* const request = in_flight(cache, table->request);
  const std::int64_t block = request ? other(*request, *table) : -1;
  if (block < 0) return {};
  TableEvent changed = *table;
  changed.blocks.front() = block;
  return {changed};
}

Events plant_other_state(const OwnedCache& cache, const RecordedEvent& event) {
  return found_instead(cache, event, RecordedKind::state, [&](const OwningRequest& request, const TableEvent& table) {
    return block_with(cache, table.group, [&](const OwnedContent& content) {
      return content.state.key != 0 && content.state.key != cache.key_at(request, content.state.tokens);
    });
  });
}

Events plant_other_kv(const OwnedCache& cache, const RecordedEvent& event) {
  return found_instead(cache, event, RecordedKind::attention,
                       [&](const OwningRequest& request, const TableEvent& table) {
    const std::int64_t position = table.first * cache.group(table.group).block_tokens;
    return block_with(cache, table.group, [&](const OwnedContent& content) {
      return !content.units.empty() && content.units.front().position == position && content.units.front().key != 0 &&
             content.units.front().key != cache.key_at(request, position + cache.unit());
    });
  });
}

Events plant_shifted_boundary(const OwnedCache& cache, const RecordedEvent& event) {
  return with_states(cache, event, [](const RecordedRun&, RecordedStateUse& use) {
    ++use.to.back().tokens;
    return true;
  });
}

Events plant_stale_state(const OwnedCache& cache, const RecordedEvent& event) {
  return with_states(cache, event, [](const RecordedRun& run, RecordedStateUse& use) {
    if (run.start == 0 || use.from != use.to.back().block) return false;
    use.to.clear();
    return true;
  });
}

Events plant_wrong_column(const OwnedCache& cache, const RecordedEvent& event) {
  return with_states(cache, event, [](const RecordedRun& run, RecordedStateUse& use) {
    if (run.start == 0 || use.from == use.to.back().block) return false;
    use.from = use.to.back().block;
    return true;
  });
}

Events plant_rejected_draft(const OwnedCache& cache, const RecordedEvent& event) {
  return in_runs(cache, event, RecordedKind::state,
                 [&](ComputeEvent& changed, RecordedRun& run, const OwningRequest& request, std::int64_t group) {
    const std::int64_t end = run.start + 1;
    if (run.tokens != 1 || run.start == 0 || run.drafts > 0) return Events{};
    for (const RecordedGroup& of : cache.recording.groups)
      if (end % of.block_tokens == 0) return Events{};
    const RecordedStateUse use = states_of(cache, request, group, run);
    if (use.to.empty() || use.to.back().block < 0) return Events{};
    run.tokens = 2;
    run.drafts = 1;
    for (std::int64_t other = 0; other < std::ssize(cache.recording.groups); ++other)
      if (cache.group(other).is_state())
        run.states.push_back(other == group ? RecordedStateUse{group, use.from, {{use.to.back().block, end + 1}}}
                                            : states_of(cache, request, other,
                                                        {.request = run.request, .start = run.start, .tokens = 1}));
    return Events{changed};
  });
}

Events plant_overwritten(const OwnedCache& cache, const RecordedEvent& event) {
  return in_runs(cache, event, RecordedKind::attention,
                 [&](ComputeEvent& changed, RecordedRun& run, const OwningRequest& request, std::int64_t group) {
    const std::int64_t size = cache.group(group).block_tokens;
    for (const RecordedRun& other : changed.runs) {
      const OwningRequest* const victim = in_flight(cache, other.request);
      if (other.request == run.request || !victim->has_run || other.start < size) continue;
      const std::int64_t block = table_of(*victim, group).front();
      if (run.start >= size && table_of(request, group).front() == block) continue;
      return Events{TableEvent{TableChange::moved, run.request, group, run.start / size, {block}}, changed};
    }
    return Events{};
  });
}

/// A run that reads the first block of K and V, with events ahead of it.
template <class Ahead>
Events ahead_of_read(const OwnedCache& cache, const RecordedEvent& event, Ahead&& ahead) {
  return in_runs(cache, event, RecordedKind::attention,
                 [&](ComputeEvent& changed, RecordedRun& run, const OwningRequest& request, std::int64_t group) {
    if (run.start < cache.group(group).block_tokens) return Events{};
    Events events = ahead(run.request, group, table_of(request, group).front());
    if (!events.empty()) events.push_back(changed);
    return events;
  });
}

Events plant_freed(const OwnedCache& cache, const RecordedEvent& event) {
  return ahead_of_read(cache, event, [](std::int64_t request, std::int64_t group, std::int64_t block) {
    return Events{FreeEvent{request, group, {block}}};
  });
}

StoreEvent store_of(const OwnedCache& cache, std::int64_t request, std::int64_t group, std::int64_t block,
                    std::int64_t rank = 0) {
  return {.request = request,
          .object = "planted-" + std::to_string(rank),
          .rank = rank,
          .group = group,
          .block = block,
          .bytes = cache.group(group).block_bytes};
}

LoadEvent load_of(const StoreEvent& store, std::int64_t rank) {
  return {.request = store.request,
          .object = store.object,
          .rank = rank,
          .group = store.group,
          .block = store.block,
          .bytes = store.bytes};
}

Events plant_nan_tail(const OwnedCache& cache, const RecordedEvent& event) {
  return ahead_of_read(cache, event, [&](std::int64_t request, std::int64_t group, std::int64_t block) {
    Events events;
    for (std::int64_t rank = 0; rank < cache.recording.ranks; ++rank) {
      const StoreEvent store = store_of(cache, request, group, block, rank);
      LoadEvent load = load_of(store, rank);
      load.tokens = cache.group(group).block_tokens - 1;
      events.insert(events.end(), {store, load});
    }
    return events;
  });
}

Events plant_lost_object(const OwnedCache& cache, const RecordedEvent& event) {
  return ahead_of_read(cache, event, [&](std::int64_t request, std::int64_t group, std::int64_t block) {
    return Events{load_of(store_of(cache, request, group, block), 0)};
  });
}

Events plant_other_rank(const OwnedCache& cache, const RecordedEvent& event) {
  return ahead_of_read(cache, event, [&](std::int64_t request, std::int64_t group, std::int64_t block) {
    const StoreEvent store = store_of(cache, request, group, block);
    return Events{store, load_of(store, 1)};
  });
}

Events plant_other_group(const OwnedCache& cache, const RecordedEvent& event) {
  const std::int64_t states = group_with(cache, RecordedKind::state);
  return ahead_of_read(cache, event, [&](std::int64_t request, std::int64_t group, std::int64_t block) {
    if (states < 0) return Events{};
    const OwningRequest* const owner = in_flight(cache, request);
    for (const std::int64_t state : table_of(*owner, states)) {
      if (cache.is_null(states, state)) continue;
      StoreEvent store = store_of(cache, request, states, state);
      LoadEvent load = load_of(store, 0);
      load.group = group;
      load.block = block;
      load.bytes = cache.group(group).block_bytes;
      return Events{store, load};
    }
    return Events{};
  });
}

/// A request that ends, with a store of one of its blocks ahead of it.
template <class Change>
Events stored_at_end(const OwnedCache& cache, const RecordedEvent& event, Change&& change) {
  const auto* const ended = std::get_if<EndEvent>(&event);
  const OwningRequest* const request = ended ? in_flight(cache, ended->request) : nullptr;
  if (!request) return {};
  for (std::int64_t group = std::ssize(request->tables) - 1; group >= 0; --group) {
    const std::vector<std::int64_t>& table = table_of(*request, group);
    if (table.empty() || cache.is_null(group, table.back())) continue;
    StoreEvent store = store_of(cache, ended->request, group, table.back());
    change(store);
    return {store, event};
  }
  return {};
}

Events plant_one_page(const OwnedCache& cache, const RecordedEvent& event) {
  return stored_at_end(cache, event, [](StoreEvent& store) { store.bytes /= 2; });
}

Events plant_wrong_units(const OwnedCache& cache, const RecordedEvent& event) {
  return stored_at_end(cache, event, [](StoreEvent& store) { store.bytes *= 8; });
}

Events plant_other_dtype(const OwnedCache& cache, const RecordedEvent& event) {
  return stored_at_end(cache, event, [](StoreEvent& store) { store.dtype = "another"; });
}

Events plant_freed_while_stored(const OwnedCache& cache, const RecordedEvent& event) {
  return stored_at_end(cache, event, [](StoreEvent& store) { store.is_begun = true; });
}

Events plant_hits_disagree(const OwnedCache& cache, const RecordedEvent& event) {
  const auto* const hit = std::get_if<HitEvent>(&event);
  if (!hit || hit->tokens == 0 || hit->groups.empty()) return {};
  HitEvent changed = *hit;
  changed.groups.back() -= cache.unit();
  return {changed};
}

Events plant_taken_while_held(const OwnedCache& cache, const RecordedEvent& event) {
  const auto* const table = std::get_if<TableEvent>(&event);
  if (!table || table->change != TableChange::taken) return {};
  std::int64_t held = -1;
  for (const auto& [number, block] : cache.blocks[static_cast<std::size_t>(cache.group(table->group).arena)]) {
    const bool others = !block.holders.empty() &&
                        std::count(block.holders.begin(), block.holders.end(), table->request) == 0;
    if (others && (held < 0 || number < held)) held = number;
  }
  if (held < 0) return {};
  TableEvent changed = *table;
  changed.blocks.back() = held;
  return {changed};
}

Events plant_region(const OwnedCache& cache, const RecordedEvent& event) {
  if (!std::holds_alternative<StepEvent>(event)) return {};
  const RecordedGroup& group = cache.group(0);
  const std::int64_t blocks = cache.recording.arenas[static_cast<std::size_t>(group.arena)].blocks;
  return {RegionEvent{.rank = 0, .group = 0, .bytes = blocks * (group.block_bytes / 2)}, event};
}

constexpr auto faults = std::to_array<RecordingFault>({
    {"state-of-another-prefix", "a request finds K and V of its prefix and the state of another one",
     OwnershipFault::other_prefix, plant_other_state},
    {"kv-of-another-prefix", "it finds K and V of another prefix", OwnershipFault::other_prefix, plant_other_kv},
    {"shifted-boundary", "a draft moves a boundary: a state stands one token ahead of it",
     OwnershipFault::other_position, plant_shifted_boundary},
    {"stale-state", "a step does not write the state that the next one reads", OwnershipFault::other_position,
     plant_stale_state},
    {"wrong-column", "a state is copied to another column than the one that is read", OwnershipFault::not_written,
     plant_wrong_column},
    {"rejected-draft", "the state of a draft that was rejected stays where that of its request belongs",
     OwnershipFault::rejected_draft, plant_rejected_draft},
    {"overwritten-while-live", "a request writes into the block of another one that runs", OwnershipFault::overwritten,
     plant_overwritten},
    {"read-after-free", "a request reads a block that it gave back", OwnershipFault::freed, plant_freed},
    {"taken-while-held", "a block goes to a request while another one holds it", OwnershipFault::taken_while_held,
     plant_taken_while_held},
    {"hits-disagree", "a request resumes where one group found less", OwnershipFault::hits_disagree,
     plant_hits_disagree},
    {"nan-tail", "the last token of a block does not come with a transfer", OwnershipFault::not_written,
     plant_nan_tail},
    {"lost-object", "an object is loaded that nobody stored", OwnershipFault::object_unknown, plant_lost_object},
    {"object-of-another-rank", "a rank loads what another rank stored", OwnershipFault::other_rank, plant_other_rank},
    {"object-of-another-group", "a state is loaded where K and V belong", OwnershipFault::other_group,
     plant_other_group},
    {"one-page-stored", "half of a block's pages are stored", OwnershipFault::object_size, plant_one_page},
    {"wrong-units", "a store counts bits for bytes", OwnershipFault::object_size, plant_wrong_units},
    {"other-element-type", "a block is stored as elements of another type", OwnershipFault::other_dtype,
     plant_other_dtype},
    {"freed-while-stored", "a block is freed, and taken, before its store is through",
     OwnershipFault::changed_while_stored, plant_freed_while_stored},
    {"half-region", "the region that is registered is half of the blocks", OwnershipFault::region_size, plant_region},
});

/// What a fault needs to mean anything.
Recording with_needs(Recording recording) {
  recording.ranks = std::max<std::int64_t>(recording.ranks, 2);
  for (RecordedGroup& group : recording.groups) {
    if (group.block_bytes == 0) group.block_bytes = std::int64_t{1} << 20;
    if (group.dtype.empty()) group.dtype = "bf16";
  }
  return recording;
}

}  // namespace

std::span<const RecordingFault> all_recording_faults() { return faults; }

const RecordingFault* find_recording_fault(std::string_view name) {
  const auto found = std::find_if(faults.begin(), faults.end(),
                                  [&](const RecordingFault& fault) { return fault.name == name; });
  return found == faults.end() ? nullptr : &*found;
}

FaultPlanter::FaultPlanter(const Recording& recording, const RecordingFault& fault,
                           std::function<void(const RecordedEvent&)> next)
    : fault_(fault), next_(std::move(next)), shadow_(with_needs(recording), [](const OwnershipFinding&) {}) {}

void FaultPlanter::consume(const RecordedEvent& event) {
  Events events;
  if (!is_planted_) {
    events = fault_.plant(shadow_.cache(), event);
    is_planted_ = !events.empty();
    // From here on nobody asks what is known.
    if (!is_planted_) shadow_.consume(event, 0);
  }
  if (events.empty()) return next_(event);
  for (const RecordedEvent& one : events) next_(one);
}

}  // namespace hybridkv
