#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ask/asked_number.h"
#include "ask/flag_effects.h"
#include "planner/cache_plan.h"
#include "planner/model_parameters.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `explain`.
inline constexpr const char* derivation_schema_id = "hybridkv-derivation/1";

/// A value with its unit as people read it: "1,024 bytes", "1 token", "3.65 %", "3 x 6144 of bf16".
std::string term_text(const Term& term);

/// Every decision of a plan in order, each an entry with its number, its rule, the rule with the values in place, the
/// inputs and the source.
Document explain_steps(const CachePlan& plan);

/// The plans that `explain` is asked for, made one by one: what derives a thousand of them takes gigabytes.
struct ExplainSource {
  std::string model;
  std::int64_t tensor_parallel = 1;
  std::size_t num_plans = 0;
  std::optional<ModelParameters> parameters;      ///< of the model, where they are known
  std::function<CachePlan(std::size_t)> plan_at;  ///< i-th of them, with its derivation; 0 <= i < num_plans
  std::optional<AskedNumber> number = std::nullopt;  ///< alone, with what it stands on; nothing: every number
  std::optional<FlagEffects> flags = std::nullopt;    ///< of the command that was pasted, where one was
};

/// `explain --format FORMAT`, written plan by plan: what the flags of a command do, then explain_steps, as text or
/// Markdown, a row per decision as csv, and as json {schema, model, tensor_parallel, parameters, flags, plans:
/// [{attention_pack_size, derivation: [{result{symbol, value, unit}, rule, values, inputs[], source}]}]}, where
/// `values` is substituted_rule or null. Of a number that was asked for only the steps that come to it, `asked`, and
/// those that they stand on, of the plans that have it; each has its `step`, counted from 1. Throws InputError where no
/// plan has it, with the numbers nearest to it.
/// Pre: at least one plan.
void write_explain(const ExplainSource& source, Format format, const Style& style,
                   const std::function<void(const std::string&)>& write);

}  // namespace hybridkv
