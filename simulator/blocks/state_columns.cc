#include "simulator/blocks/state_columns.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

StateColumns::StateColumns(const CacheGeometry& geometry, const PrefixPositions& positions, StateManager& states)
    : positions_(positions), states_(states), speculative_(geometry.draft_states()) {}

bool StateColumns::made_in_step(const RequestBlocks& request) const {
  for (std::size_t group = 0; group < request.states.size() && !made_.empty(); ++group) {
    const StateTable& table = request.states[group];
    if (table.live.empty()) continue;
    const PrefixKey key = states_.pool(group).key(table.live.back().block);
    if (std::find(made_.begin(), made_.end(), key) != made_.end()) return true;
  }
  return false;
}

std::int64_t StateColumns::exported_at(const RequestBlocks& request, const ComputedChunk& chunk) const {
  // Its column must not be one that the request has written, which a drafter's unfilled rows may have made.
  const std::int64_t column = ceil_div(chunk.end, positions_.block()) - 2;
  return column > request.states.front().running_index() ? positions_.exported_at(chunk) : 0;
}

bool StateColumns::add_demand(const RequestBlocks& request, const ComputedChunk& chunk, bool first,
                              std::span<std::int64_t> demand) const {
  if (request.states.empty()) return false;
  const std::int64_t block = positions_.block();
  const std::int64_t columns = request.states.front().running_index() + 1 + (first ? 0 : speculative_);
  const std::int64_t copy = (first ? chunk.start % block != 0 : request.state_tail_shared) ? 1 : 0;
  // The engine asks for the blocks of a crossing also where a copy is all that it takes.
  std::int64_t blocks = ceil_div(chunk.end, block) + speculative_ - columns;
  if (copy > 0) blocks = std::max<std::int64_t>(blocks, 0) + 1;
  if (blocks > 0) blocks = 1 + copy + (first ? speculative_ : 0) + (exported_at(request, chunk) > 0 ? 1 : 0);
  blocks = std::max<std::int64_t>(blocks, 0);
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    demand[states_.arena(group)] += blocks;
    if (!first) continue;
    for (const StateEntry& entry : request.states[group].live)
      if (states_.pool(group).is_free(entry.block)) ++demand[states_.arena(group)];
  }
  return blocks > 0;
}

std::int64_t StateColumns::grow(RequestBlocks& request, const ComputedChunk& chunk, bool first, std::int64_t step,
                                std::vector<BlockCopy>& copied) {
  if (request.states.empty()) return 0;
  const std::int64_t running = ceil_div(chunk.end, positions_.block()) - 1;
  const std::int64_t exported = exported_at(request, chunk);
  request.exported_tokens = exported;
  std::int64_t copies = 0;
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    StateTable& table = request.states[group];
    BlockArena& pool = states_.pool(group);
    const auto arena = static_cast<std::int64_t>(states_.arena(group));
    if (first && chunk.start % positions_.block() != 0) {
      const BlockId source = table.live.back().block, copy = pool.take(BlockKind::state);
      copied.push_back({source, copy, arena, source, static_cast<std::int64_t>(group)});
      table.live.back().block = copy;
      ++copies;
    } else if (request.state_tail_shared) {
      const BlockId source = table.live.back().block, copy = pool.take(BlockKind::state);
      copied.push_back({source, copy, arena, copy, static_cast<std::int64_t>(group)});
      pool.move_key(source, copy, step);
      made_.push_back(pool.key(copy));
      ++copies;
    }
    const std::int64_t before = table.running_index();
    std::int64_t columns = 0;  // new ones that hold a state
    if (running > before) {
      columns = exported > 0 ? 2 : 1;
      if (before >= 0) ++copies;
      // Speculative blocks left of the new columns move to the end one by one.
      const std::int64_t passed = running - columns - before;
      const auto moved = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(passed, std::ssize(table.spare)));
      std::rotate(table.spare.begin(), table.spare.begin() + moved, table.spare.end());
    }
    while (std::ssize(table.spare) < columns + speculative_) table.spare.push_back(pool.take(BlockKind::state));
    for (std::int64_t i = 0; i < columns; ++i)
      table.live.push_back({running - columns + 1 + i, table.spare[static_cast<std::size_t>(i)]});
    table.spare.erase(table.spare.begin(), table.spare.begin() + static_cast<std::ptrdiff_t>(columns));
  }
  request.state_tail_shared = false;
  return copies;
}

bool StateColumns::publish_at(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
                              std::int64_t column, std::int64_t step) {
  const std::int64_t units = tokens / positions_.unit();
  if (units > std::ssize(keys)) return false;
  bool published = false;
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    BlockArena& pool = states_.pool(group);
    for (const StateEntry& entry : request.states[group].live) {
      if (entry.index != column || pool.key(entry.block) != 0) continue;
      made_.push_back(states_.group_keys()(keys[static_cast<std::size_t>(units - 1)], group));
      pool.publish(entry.block, made_.back(), step, group == 0);
      published = true;
    }
  }
  return published;
}

void StateColumns::publish(RequestBlocks& request, std::span<const PrefixKey> keys, const ComputedChunk& chunk,
                           std::int64_t step) {
  if (request.states.empty()) return;
  publish_boundaries(request, keys, chunk, step);
  const std::int64_t exported = request.exported_tokens;
  if (exported > 0) {
    if (positions_.keeps_exported(exported, chunk))
      publish_at(request, keys, exported, request.states.front().running_index() - 1, step);
    return;
  }
  if (chunk.end % positions_.block() == 0) return;
  if (!positions_.keeps_inside(chunk.end, chunk.prompt, chunk.junction)) return;
  const std::int64_t column = chunk.end / positions_.block();
  if (!publish_at(request, keys, chunk.end, column, step)) return;
  request.state_tail_shared = true;
  request.published_states = column;
}

void StateColumns::publish_boundaries(RequestBlocks& request, std::span<const PrefixKey> keys,
                                      const ComputedChunk& chunk, std::int64_t step) {
  if (request.states.empty()) return;
  const std::int64_t block = positions_.block();
  const std::int64_t known = std::min(positions_.published_end(chunk.end, block, positions_.state_drafters()),
                                      std::ssize(keys) * positions_.unit());
  const std::int64_t reserved = request.exported_tokens > 0 ? request.states.front().running_index() - 1 : -1;
  for (std::size_t i = 0; i < request.states.front().live.size(); ++i) {
    const std::int64_t column = request.states.front().live[i].index, at = (column + 1) * block;
    if (column < request.published_states || at > known || column == reserved) continue;
    if (positions_.keeps_boundary(at, chunk.prompt, chunk.junction) ||
        (reserved < 0 && at == chunk.end && positions_.keeps_inside(at, chunk.prompt, chunk.junction)))
      publish_at(request, keys, at, column, step);
  }
  request.published_states = std::max(request.published_states, known / block);
}

}  // namespace hybridkv
