#pragma once

#include <string>
#include <vector>

#include "ask/simulate.h"
#include "report/field.h"

namespace hybridkv {

/// A cache of blocks in an answer of `simulate`, of which its tables have a row.
struct BlockRow {
  const SimulateAnswer& answer;
  const ReplayedCache& cache;
  const SimulationStats& stats;
  const CacheGeometry& geometry;
};

/// Pre: all caches are of blocks.
std::vector<BlockRow> block_rows(const SimulateAnswer& answer);

using BlockField = Field<BlockRow>;

/// The name of the cache, a number of its statistics, and one of its geometry.
BlockField name_of_blocks();
template <auto Member>
BlockField of_blocks(Column column) {
  return {std::move(column), [](const BlockRow& row) { return Cell(row.stats.*Member); }};
}
template <auto Member>
BlockField of_geometry(Column column) {
  return {std::move(column), [](const BlockRow& row) { return Cell(row.geometry.*Member); }};
}

/// One row per cache with every counter. Pre: all caches are of blocks.
Table blocks_table(const SimulateAnswer& answer);

/// "align", or "attention only" where there are no states.
std::string mode_text(const CacheGeometry& geometry);

}  // namespace hybridkv
