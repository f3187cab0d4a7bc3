#include "simulator/recording/block_recorder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "simulator/blocks/block_rules.h"
#include "simulator/blocks/plan_geometry.h"

namespace hybridkv {

namespace {

RecordedKind recorded_kind(MaskKind kind) {
  switch (kind) {
    case MaskKind::sliding_window: return RecordedKind::sliding;
    case MaskKind::chunked_local: return RecordedKind::chunked;
    default: return RecordedKind::attention;
  }
}

RecordedStates recorded_states(CacheMode mode) {
  switch (mode) {
    case CacheMode::none: return RecordedStates::running;
    case CacheMode::all: return RecordedStates::all;
    default: return RecordedStates::align;
  }
}

/// Layers and bytes of a group, with those of the groups behind it that share its table.
void describe_group(RecordedGroup& recorded, const CachePlan& plan, std::size_t number) {
  Checked bytes = 0;
  for (std::size_t i = number; i < plan.groups.size() && (i == number || plan.groups[i].shares_table); ++i) {
    const GroupPlan& group = plan.groups[i];
    const std::vector<std::int64_t> layers = group.layers();
    recorded.layers.insert(recorded.layers.end(), layers.begin(), layers.end());
    bytes += Checked(std::ssize(group.pages)) * plan.spec_of(group).unpadded_page_bytes;
  }
  std::sort(recorded.layers.begin(), recorded.layers.end());
  // A state that lies in several pages is a group a page.
  if (plan.groups[number].ids_per_entry == 1) recorded.block_bytes = bytes;
}

bool is_copied(const CacheManager& cache, std::int64_t arena, BlockId block) {
  const auto copies = cache.copies();
  return std::any_of(copies.begin(), copies.end(),
                     [&](const BlockCopy& copy) { return copy.arena == arena && copy.to == block; });
}

std::vector<std::int64_t> numbers_of(std::span<const BlockId> blocks) { return {blocks.begin(), blocks.end()}; }

bool has_block(const std::vector<BlockId>& table, BlockId block) {
  return std::find(table.begin(), table.end(), block) != table.end();
}

}  // namespace

Recording recording_of(const CacheGeometry& geometry) {
  Recording recording;
  recording.engine = std::string(geometry.rules.engine->name) + ", simulated";
  recording.unit_tokens = geometry.match_unit();
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    recording.arenas.push_back({.blocks = geometry.arena_blocks(arena), .null_block = null_block_id});
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group) {
    RecordedGroup recorded{.block_tokens = geometry.attention_block(group), .arena = geometry.attention_arena(group)};
    if (geometry.is_windowed(group)) {
      const KeyMask& mask = geometry.attention_masks[static_cast<std::size_t>(group)];
      recorded.kind = recorded_kind(mask.kind);
      recorded.window_tokens = mask.window_tokens;
    }
    recording.groups.push_back(recorded);
  }
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    recording.groups.push_back({.kind = RecordedKind::state,
                                .states = recorded_states(geometry.mode),
                                .block_tokens = geometry.state_block(),
                                .arena = geometry.state_arena(group)});
  return recording;
}

Recording recording_of(const CacheGeometry& geometry, const CachePlan& plan, const EngineSpec& engine) {
  Recording recording = recording_of(geometry);
  const FoundGroups found = found_groups(plan, engine);
  for (std::size_t group = 0; group < recording.groups.size(); ++group)
    describe_group(recording.groups[group], plan,
                   group < found.attention.size() ? found.attention[group]
                                                  : found.states[group - found.attention.size()]);
  return recording;
}

void BlockRecorder::watch(Simulation& simulation) {
  simulation.after_schedule = [this, &simulation, before = std::move(simulation.after_schedule)] {
    if (before) before();
    record_step(simulation.scheduler());
  };
  simulation.scheduler().before_release = [this, before = std::move(simulation.scheduler().before_release)](
                                              const ActiveRequest& request) {
    if (before) before(request);
    record_end(request);
  };
}

void BlockRecorder::record_step(const Scheduler& scheduler) {
  const CacheManager& cache = scheduler.cache();
  on_event_(StepEvent{++steps_});
  record_preemptions(scheduler.running());
  for (const auto& request : scheduler.running())
    if (const auto known = recorded_.find(request->record.index); known != recorded_.end())
      record_frees(*request, known->second);
  for (const auto& request : scheduler.running()) record_tables(*request, cache);
  const std::int64_t attention_groups = cache.geometry().attention_groups;
  for (const BlockCopy& copy : cache.copies()) {
    const bool is_state = cache.pools()[static_cast<std::size_t>(copy.arena)].kind(copy.to) == BlockKind::state;
    on_event_(CopyEvent{-1, copy.group + (is_state ? attention_groups : 0), copy.from, copy.to});
  }
  ComputeEvent computed;
  for (const auto& request : scheduler.running())
    if (request->scheduled_tokens > 0)
      computed.runs.push_back({.request = request->record.index,
                               .start = request->computed_tokens,
                               .tokens = request->scheduled_tokens,
                               .drafts = std::max<std::int64_t>(0, request->computed_tokens +
                                                                       request->scheduled_tokens -
                                                                       request->known_tokens),
                               .exported = request->blocks.exported_tokens});
  on_event_(computed);
}

void BlockRecorder::record_preemptions(std::span<const std::unique_ptr<ActiveRequest>> running) {
  std::erase_if(recorded_, [&](const auto& one) {
    const bool runs = std::any_of(running.begin(), running.end(),
                                  [&](const auto& request) { return request->record.index == one.first; });
    if (!runs) on_event_(PreemptEvent{one.first});
    return !runs;
  });
}

void BlockRecorder::record_frees(const ActiveRequest& request, const Recorded& before) {
  const auto record = [&](std::size_t group, const std::vector<BlockId>& was, const std::vector<BlockId>& is) {
    if (was == is) return;
    std::vector<std::int64_t> freed;
    // Blocks of an attention table never change their column.
    const bool stays = group < before.attention.size();
    for (std::size_t i = 0; i < was.size(); ++i)
      if (was[i] != null_block_id && (i >= is.size() || is[i] != was[i]) && (stays || !has_block(is, was[i])))
        freed.push_back(was[i]);
    if (!freed.empty())
      on_event_(FreeEvent{request.record.index, static_cast<std::int64_t>(group), std::move(freed)});
  };
  for (std::size_t group = 0; group < before.attention.size(); ++group)
    record(group, before.attention[group], request.blocks.attention[group]);
  for (std::size_t group = 0; group < before.states.size(); ++group)
    record(before.attention.size() + group, before.states[group], request.blocks.states[group].with_nulls());
}

void BlockRecorder::record_first(const ActiveRequest& request, const CacheManager& cache) {
  const std::int64_t number = request.record.index;
  if (keys_.emplace(number, request.keys.size()).second)
    on_event_(RequestEvent{number, request.record.input_length, request.keys});
  const CacheGeometry& geometry = cache.geometry();
  const auto groups = static_cast<std::size_t>(geometry.attention_groups + geometry.state_groups);
  on_event_(HitEvent{number, request.computed_tokens, std::vector<std::int64_t>(groups, request.computed_tokens)});
}

void BlockRecorder::record_tables(const ActiveRequest& request, const CacheManager& cache) {
  const bool is_first = !recorded_.contains(request.record.index);
  Recorded& before = recorded_[request.record.index];
  if (is_first) {
    before.attention.resize(request.blocks.attention.size());
    before.states.resize(request.blocks.states.size());
    record_first(request, cache);
  }
  record_keys(request);
  const CacheGeometry& geometry = cache.geometry();
  const std::int64_t hit = is_first ? request.computed_tokens : 0;
  for (std::size_t group = 0; group < before.attention.size(); ++group) {
    const auto number = static_cast<std::int64_t>(group);
    record_table(request, number, before.attention[group], request.blocks.attention[group],
                 [&](std::int64_t column, BlockId block) {
                   return column * geometry.attention_block(number) < hit &&
                          !is_copied(cache, geometry.attention_arena(number), block);
                 });
    before.attention[group] = request.blocks.attention[group];
  }
  for (std::size_t group = 0; group < before.states.size(); ++group) {
    const auto number = static_cast<std::int64_t>(group);
    std::vector<BlockId> table = request.blocks.states[group].with_nulls();
    record_table(request, geometry.attention_groups + number, before.states[group], table,
                 [&](std::int64_t column, BlockId block) {
                   return hit > 0 && column == ceil_div(hit, geometry.state_block()) - 1 &&
                          !is_copied(cache, geometry.state_arena(number), block);
                 });
    before.states[group] = std::move(table);
  }
}

void BlockRecorder::record_table(const ActiveRequest& request, std::int64_t group, const std::vector<BlockId>& before,
                                 const std::vector<BlockId>& after,
                                 const std::function<bool(std::int64_t, BlockId)>& is_found) {
  if (before == after) return;
  const bool is_state = group >= std::ssize(request.blocks.attention);
  const auto change_of = [&](std::size_t column) {
    const BlockId block = after[column];
    // Attention never moves a block: one that was there before was given back and taken again.
    if (block == null_block_id || (is_state && has_block(before, block))) return TableChange::moved;
    return is_found(static_cast<std::int64_t>(column), block) ? TableChange::found : TableChange::taken;
  };
  for (std::size_t column = 0; column < after.size();) {
    if (column < before.size() && before[column] == after[column]) {
      ++column;
      continue;
    }
    const TableChange change = change_of(column);
    const std::size_t first = column++;
    while (column < after.size() && !(column < before.size() && before[column] == after[column]) &&
           change_of(column) == change)
      ++column;
    on_event_(TableEvent{change, request.record.index, group, static_cast<std::int64_t>(first),
                         numbers_of(std::span(after).subspan(first, column - first))});
  }
}

void BlockRecorder::record_keys(const ActiveRequest& request) {
  std::size_t& known = keys_.at(request.record.index);
  if (request.keys.size() <= known) return;
  on_event_(KeysEvent{request.record.index,
                      {request.keys.begin() + static_cast<std::ptrdiff_t>(known), request.keys.end()}});
  known = request.keys.size();
}

void BlockRecorder::record_end(const ActiveRequest& request) {
  if (!keys_.contains(request.record.index)) return;
  record_keys(request);
  keys_.erase(request.record.index);
  recorded_.erase(request.record.index);
  on_event_(EndEvent{request.record.index});
}

}  // namespace hybridkv
