#include "report/plan/arena_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/field.h"

namespace hybridkv {

namespace {

/// An arena of a cache, of which the tables have a row.
struct ArenaRow {
  const SimulationStats* stats;
  std::int64_t arena;

  const CacheGeometry& geometry() const { return stats->geometry; }
  const ArenaStats& found() const { return stats->arenas[static_cast<std::size_t>(arena)]; }
  std::int64_t ids() const { return geometry().arena_blocks(arena); }
};

/// "tokens", "states", or both: whose groups take ids of the arena.
std::string holds_text(const ArenaRow& row) {
  const CacheGeometry& geometry = row.geometry();
  bool tokens = false, states = false;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    tokens = tokens || geometry.attention_arena(group) == row.arena;
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    states = states || geometry.state_arena(group) == row.arena;
  if (tokens && states) return "tokens, states";
  return states ? "states" : "tokens";
}

void add_arenas(std::vector<ArenaRow>& rows, const SimulationStats& stats) {
  for (std::int64_t arena = 0; arena < stats.geometry.num_arenas(); ++arena) rows.push_back({&stats, arena});
}

Table table_of_arenas(const std::vector<ArenaRow>& rows, bool with_name) {
  using Row = ArenaRow;
  return table_of<Row>(
      {{{"name", "cache"}, via(&Row::geometry, &CacheGeometry::name), with_name},
       {{"arena", "arena"}, &Row::arena},
       {{"holds", "holds"}, holds_text},
       {{"num_ids", "ids"}, &Row::ids},
       {{"max_held_ids", "ids held", "at most"}, via(&Row::found, &ArenaStats::max_held_blocks)},
       {{"max_held_share", "", "of all"},
        [](const Row& row) { return percent_of(row.found().max_held_blocks, row.ids() - 1, 1); }},
       {{"evictions", "ids", "evicted"}, [](const Row& row) { return row.found().pool.evictions; }}},
      rows);
}

}  // namespace

std::optional<Table> arena_table(const SimulateAnswer& answer) {
  const auto& all = answer.caches;
  const bool several = std::any_of(all.begin(), all.end(), [](const ReplayedCache& cache) {
    return cache.blocks().geometry.num_arenas() > 1;
  });
  if (!several) return std::nullopt;
  std::vector<ArenaRow> rows;
  for (const ReplayedCache& cache : all) add_arenas(rows, cache.blocks());
  return table_of_arenas(rows, true);
}

nlohmann::ordered_json arenas_json(const SimulationStats& stats) {
  std::vector<ArenaRow> rows;
  if (stats.geometry.num_arenas() > 1) add_arenas(rows, stats);
  return to_json(table_of_arenas(rows, false));
}

}  // namespace hybridkv
