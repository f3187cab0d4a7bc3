#pragma once

#include <string>

#include "ask/plan.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// What `plan` says. Several plans: the model, one row per pack size at the longest length, which pack costs fewest
/// bytes and why, warnings, bias memory. One plan: its figures in words, warnings, then capacity, prefix granularity,
/// specs, groups, pools, waste and views.
/// Pre: at least one plan, a capacity in each, the same lengths in all; the findings are theirs.
Document plan_report(const PlanSet& set, const PlanAnswer& findings);

/// `plan --format FORMAT`: plan_report as text or Markdown, plan_table as csv, the whole plans as json (plan_json.h).
std::string render_plan(const PlanSet& set, const PlanAnswer& findings, Format format, const Style& style = {});

}  // namespace hybridkv
