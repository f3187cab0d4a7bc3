#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// One request of a verification batch.
struct BatchRequest {
  std::int64_t tokens = 0;        ///< context and new tokens together, >= 1
  std::int64_t query_tokens = 0;  ///< new tokens of this batch, 1 to `tokens`
  bool is_decode = false;         ///< its new tokens are read back from the cache

  std::int64_t context() const { return tokens - query_tokens; }
};

/// Which block ids every request holds in every group.
struct BlockAssignment {
  /// [group][request][position], ids of the group's arena; of a state in several pages those of an entry in a row;
  /// where ids are split, the number of a place: entries_per_id times the id and the place in it
  std::vector<std::vector<std::vector<std::int64_t>>> ids;
  std::vector<std::int64_t> ids_per_entry;                  ///< [group]
  std::vector<std::vector<std::int64_t>> guards;            ///< [arena], ids nobody holds, watched for stray writes

  /// Every id that a request holds in this group, each once.
  std::vector<std::int64_t> held_by(std::size_t group) const;
  /// Of these the ones that hold one piece of an entry.
  std::vector<std::int64_t> held_by(std::size_t group, std::int64_t piece) const;
  /// The ids of its arena in which these lie, each once.
  std::vector<std::int64_t> ids_held_by(const CachePlan& plan, std::size_t group) const;
  /// The places in these ids that nobody holds; none where ids are not split.
  std::vector<std::int64_t> unused_places(const CachePlan& plan, std::size_t group) const;
};

/// Gives every request its blocks: interleaved over requests and groups, not contiguous, the highest id of each arena
/// included; of an id that is split and not filled the last places. The second request shares its first attention block
/// with the first one where both have that much context. Deterministic in the seed.
/// Throws InputError where the pools have too few usable blocks.
BlockAssignment assign_blocks(const CachePlan& plan, std::span<const BatchRequest> requests, std::uint64_t seed);

}  // namespace hybridkv
