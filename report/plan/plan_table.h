#pragma once

#include <cstdint>
#include <vector>

#include "ask/plan_figures.h"
#include "report/field.h"

namespace hybridkv {

/// A figure of a plan under its own name, as this column heads it. A size is shown in its largest unit unless the
/// heading names bytes.
Field<PlanAtLength> figure_field(Column column);

/// The columns of plan_table that programs get, but for model and ranks, which a plan does not know.
std::vector<Field<PlanAtLength>> plan_fields();

/// One row per plan and length, plans in their order, lengths as asked for. Programs get every scalar of the plan under
/// its name in the JSON of a plan; people the columns that decide between packs.
/// Pre: at least one plan, a capacity in each.
Table plan_table(const PlanSet& set);

/// The rows of plan_table at one length. Pre: as plan_table.
Table plan_table_at(const PlanSet& set, std::int64_t max_model_len);

}  // namespace hybridkv
