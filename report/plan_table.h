#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/plan_facts.h"
#include "report/table.h"

namespace hybridkv {

/// A column of plan_table, and the cell that it takes from a plan at a length.
struct PlanColumn {
  Column column;
  std::function<Cell(const CachePlan&, const CapacityPlan&)> cell;
};

/// The columns of plan_table that programs get, but for model and ranks, which a plan does not know.
std::vector<PlanColumn> plan_columns();

/// One row per plan and length, plans in their order, lengths as asked for. Programs get every scalar of the plan under
/// its name in the JSON of a plan; people the columns that decide between packs.
/// Pre: at least one plan, a capacity in each.
Table plan_table(const PlanSet& set);

/// The rows of plan_table at one length. Pre: as plan_table.
Table plan_table_at(const PlanSet& set, std::int64_t max_model_len);

}  // namespace hybridkv
