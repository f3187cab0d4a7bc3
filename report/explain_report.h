#pragma once

#include <optional>
#include <string>

#include "planner/cache_plan.h"
#include "report/document.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `explain`.
inline constexpr const char* derivation_schema_id = "hybridkv-derivation/1";

/// A value with its unit as people read it: "1,024 bytes", "1 token", "3.65 %", "3 x 6144 of bf16".
std::string term_text(const Term& term);

/// The rule with the inputs in place of their symbols, ready for a calculator:
/// "B = 16 * ceil(2134016 / (16 * 5 * 1024))". Nothing where the rule is no formula of its inputs alone (a condition in
/// words, a symbol that is no input).
std::optional<std::string> substituted_rule(const Decision& decision);

/// What `explain` says: every decision of every plan in order, each with its number, its rule, the rule with the values in
/// place, the inputs and the source. Pre: at least one plan.
Document explain_report(const PlanSet& set);

/// One row per decision.
Table explain_table(const PlanSet& set);

/// `explain --format FORMAT`: explain_report as text or Markdown, explain_table as csv, and as json
/// {schema, model, tensor_parallel, plans: [{attention_pack_size, derivation: [{result{symbol, value, unit}, rule,
/// values, inputs[], source}]}]}, where `values` is substituted_rule or null.
std::string render_explain(const PlanSet& set, Format format, const Style& style = {});

}  // namespace hybridkv
