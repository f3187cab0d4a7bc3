#pragma once

#include <cstdint>
#include <vector>

#include "planner/demand.h"
#include "transfer/side.h"

namespace hybridkv {

/// The ids by which one side holds one request, the same on all ranks of a stage.
struct RequestTables {
  /// [stage][group][position]: of groups over tokens an entry per block, nobody_holds where the tokens of it are of no
  /// use any more; of states the ids of the one entry that holds the state after the last token; of rings one. Groups
  /// that share a table repeat it. Where ids are split, the number of a place: entries_per_id times the id and the
  /// place in it.
  std::vector<std::vector<std::vector<std::int64_t>>> ids;
};

inline constexpr std::int64_t nobody_holds = -1;

/// How ids are chosen where nobody says them.
enum class IdOrder {
  scattered,    ///< no two of a table side by side, the highest id in use: a pool that has served for a while
  consecutive,  ///< each table in one row from the first free id on: a pool that nobody used before
};

/// Tables of a request of `tokens` tokens; ids of different groups of one arena never meet.
/// Throws InputError where the ids of a side do not hold the request, with how many it takes and how many there are.
RequestTables make_tables(const TransferSide& side, std::int64_t tokens, IdOrder order, std::uint64_t seed);

/// The ids that one table of a group names, each once, ascending.
std::vector<std::int64_t> held_ids(const GroupPlan& group, const std::vector<std::int64_t>& table);

/// How many ids the tables of one stage name, [group][position], by arena; a table that is shared counts once.
Demand num_held_ids(const CachePlan& plan, const std::vector<std::vector<std::int64_t>>& tables);

/// Throws InputError unless the tables hold a request of so many tokens on that side: their number and lengths, every
/// id in its arena and no null id, none held twice. `where` begins the message: "--from-ids ids.json".
void check_tables(const TransferSide& side, const RequestTables& tables, std::int64_t tokens, const std::string& where);

}  // namespace hybridkv
