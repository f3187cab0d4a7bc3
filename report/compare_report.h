#pragma once

#include <string>

#include "ask/compare/compare.h"
#include "report/document.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `compare`.
inline constexpr const char* compare_schema_id = "hybridkv-compare/1";

/// Do people see the rules behind what differs?
enum class CompareRules { shown, hidden };

/// A row per number, a column per setting; rows that differ are marked. People see no row that is empty or 0 in all
/// settings; programs get all rows, with whether they differ and the rules in one text.
Table compare_table(const CompareAnswer& comparison);

/// For people: the table, why settings are refused, what they do to kernels that were asked about, and where wanted for
/// each row that differs the rules that make it.
Document compare_document(const CompareAnswer& comparison, CompareRules rules);

/// `compare --format FORMAT`: the table, why settings are refused, and for each row that differs the rules that make
/// it. As json {schema, settings: [{name, scenario, overrides, refused, start_errors, and of kernels that were asked
/// about kernels: [{kernel, verdict, reasons}]}], rows: [{name, unit, values, differs, rules: [{symbol, unit, values,
/// rules, sources, inputs: [{symbol, unit, values}]}]}]}, where lists of values, rules and sources have one item a
/// setting, null where it has none; as csv the table alone.
std::string render_compare(const CompareAnswer& comparison, Format format, const Style& style = {},
                           CompareRules rules = CompareRules::shown);

}  // namespace hybridkv
