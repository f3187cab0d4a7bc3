#include "report/plan/arena_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

namespace {

/// "tokens", "states", or both: whose groups take ids of the arena.
std::string holds_text(const CacheGeometry& geometry, std::int64_t arena) {
  bool tokens = false, states = false;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    tokens = tokens || geometry.attention_arena(group) == arena;
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    states = states || geometry.state_arena(group) == arena;
  if (tokens && states) return "tokens, states";
  return states ? "states" : "tokens";
}

Table empty_table() {
  return Table({{"name", "cache", "", Align::left},
                {"arena", "arena"},
                {"holds", "holds", "", Align::left},
                {"num_ids", "ids"},
                {"max_held_ids", "ids held", "at most"},
                {"max_held_share", "", "of all"},
                {"evictions", "ids", "evicted"}});
}

void add_rows(Table& table, const SimulationStats& stats) {
  const CacheGeometry& geometry = stats.geometry;
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
    const ArenaStats& found = stats.arenas[static_cast<std::size_t>(arena)];
    table.add_row({geometry.name, arena, holds_text(geometry, arena), geometry.arena_blocks(arena),
                   found.max_held_blocks, percent_of(found.max_held_blocks, geometry.arena_blocks(arena) - 1, 1),
                   found.pool.evictions});
  }
}

}  // namespace

std::optional<Table> arena_table(const SimulateAnswer& answer) {
  const auto& all = answer.caches;
  const bool several = std::any_of(all.begin(), all.end(), [](const ReplayedCache& cache) {
    return cache.blocks().geometry.num_arenas() > 1;
  });
  if (!several) return std::nullopt;
  Table table = empty_table();
  for (const ReplayedCache& cache : all) add_rows(table, cache.blocks());
  return table;
}

nlohmann::ordered_json arenas_json(const SimulationStats& stats) {
  Table table = empty_table();
  if (stats.geometry.num_arenas() > 1) add_rows(table, stats);
  nlohmann::ordered_json arenas = to_json(table);
  for (auto& arena : arenas) arena.erase("name");
  return arenas;
}

}  // namespace hybridkv
