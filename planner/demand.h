#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/arrangement.h"
#include "planner/table_rule.h"

namespace hybridkv {

/// Ids per arena that something needs: the one place where what fits is decided.
struct Demand {
  std::vector<std::int64_t> ids;  ///< by ArenaId
  /// Ids of all arenas together.
  std::int64_t total() const;
  /// Does no arena need more than its `most`?
  bool is_within(const Demand& most) const;
  bool operator==(const Demand&) const = default;
};

/// No id of any arena.
Demand no_demand(const Arrangement& arrangement);

/// Every id of every arena, the null ids among them.
Demand all_ids(const Arrangement& arrangement);

/// The ids that requests can get: all but the null ids.
Demand usable_ids(const Arrangement& arrangement);

/// Ids that so many entries of one request take: ids_per_entry of them for each entry, or one for every entries_per_id
/// entries, because an id that is split among entries goes to one request.
std::int64_t ids_of_entries(const GroupPlan& group, std::int64_t entries);

/// The inverse of ids_of_entries: the most entries of one request that so many ids hold.
std::int64_t entries_in_ids(const GroupPlan& group, std::int64_t ids);

/// Do two groups need as many ids of every request? Those of a spec do, unless large pages hold other numbers of them.
inline bool needs_as_many(const GroupPlan& one, const GroupPlan& other) {
  return one.spec == other.spec && one.entries_per_id == other.entries_per_id;
}

/// Ids of a request in the table of a group.
std::int64_t group_ids(const Arrangement& arrangement, const GroupPlan& group, std::int64_t tokens);

/// Ids of one request by what they are for; the sum of all is request_demand's.
struct IdsByCause {
  std::int64_t tokens = 0;            ///< K and V of its tokens, of a window those that it looks back on
  std::int64_t states = 0;            ///< running states and the checkpoints of boundaries
  std::int64_t speculative = 0;       ///< states after draft tokens
  std::int64_t checkpoints = 0;       ///< states exported inside a chunk
  std::int64_t in_flight_window = 0;  ///< tokens of steps in flight, which layers with a window have to keep
  std::int64_t other = 0;             ///< what the model asks for beside them: a ring, a tail
  std::int64_t encoder = 0;           ///< K and V of the tokens of its encoder
  bool operator==(const IdsByCause&) const = default;
};
IdsByCause ids_by_cause(const Arrangement& arrangement, std::int64_t tokens);

/// Ids of one request over all groups, with the extras of a request in arena 0.
Demand request_demand(const Arrangement& arrangement, std::int64_t tokens);

/// Ids of several requests that run together; `tokens` has the length of each.
Demand load_demand(const Arrangement& arrangement, std::span<const std::int64_t> tokens);

/// Adds what one more request needs.
void add_request(const Arrangement& arrangement, std::int64_t tokens, Demand& demand);

/// Do the usable ids of every arena suffice?
bool fits(const Arrangement& arrangement, const Demand& demand);

/// Do the ids suffice by the check that engines make at their start? That check counts the null ids too; from vLLM 0.33
/// on it leaves them out.
bool fits_as_engines_check(const Arrangement& arrangement, const Demand& demand);

/// Bytes of these ids over all lanes and what lies beside them.
std::int64_t bytes_of(const Arrangement& arrangement, const Demand& demand);

/// "24 blocks", or of several arenas "2,048 ids of tokens and 2 of states".
std::string ids_text(const Arrangement& arrangement, const Demand& demand);

}  // namespace hybridkv
