#pragma once

#include <cstdint>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// What one table entry of a group is made of when it is copied to somewhere else whole: a host tier, a disk. Of a
/// group over tokens an entry is a block, of states a checkpoint.
struct PageRuns {
  std::size_t group = 0;           ///< position in Arrangement::groups
  std::int64_t content_bytes = 0;  ///< of its layers, without padding
  std::int64_t content_runs = 0;   ///< in which they lie: descriptors without padding
  std::int64_t page_bytes = 0;     ///< from the first to the last byte of its pages, padding taken along
  std::int64_t page_runs = 0;      ///< in which the pages lie
  bool operator==(const PageRuns&) const = default;
};

/// Those of every group with layers that has a table of its own, in order; a group that shares the table counts with
/// the one before it. Ids next to each other are not taken for granted: pieces of one entry that lie in several ids
/// count apart. Pre: the plan has views.
std::vector<PageRuns> page_runs(const CachePlan& plan);

}  // namespace hybridkv
