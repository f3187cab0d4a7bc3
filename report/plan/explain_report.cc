#include "report/plan/explain_report.h"

#include <fmt/format.h>

#include <iterator>

#include "base/error.h"
#include "planner/primary_attention.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/plan/flag_effects_table.h"
#include "report/plan/parameters_facts.h"
#include "report/plan/plan_json.h"
#include "report/plan/rules_text.h"
#include "report/table.h"

namespace hybridkv {

namespace {

/// "A = 16 tokens, N = 5"; neighbours that are alike once, with how often they come.
std::string inputs_text(const std::vector<Term>& inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs.size();) {
    std::size_t end = i + 1;
    while (end < inputs.size() && inputs[end] == inputs[i]) ++end;
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", inputs[i].symbol, term_text(inputs[i]));
    if (end - i > 1) text += fmt::format(" ({} times)", end - i);
    i = end;
  }
  return text;
}

std::string result_text(const Term& result) {
  const auto* bytes = std::get_if<std::int64_t>(&result.value);
  const bool rounded_helps = bytes != nullptr && result.unit == "bytes";
  return fmt::format("{} = {}", result.symbol, rounded_helps ? exact_bytes(*bytes) : term_text(result));
}

Cell term_cell(const Term& term) {
  return std::visit(
      [](const auto& value) -> Cell {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
          return Real{value};
        else
          return value;
      },
      term.value);
}

/// The decision at a position of a plan's derivation, as a heading with its number, and the facts of it.
void add_step(Document& document, const CachePlan& plan, std::size_t position) {
  const Decision& decision = plan.derivation[position];
  document.blocks.emplace_back(Heading{fmt::format("{}. {}", position + 1, result_text(decision.result)), 3});
  Facts facts{{{"rule", decision.rule}}};
  if (const auto values = substituted_rule(decision)) facts.entries.emplace_back("values", *values);
  if (!decision.inputs.empty()) facts.entries.emplace_back("with", inputs_text(decision.inputs));
  facts.entries.emplace_back("source", decision.source);
  document.blocks.emplace_back(std::move(facts));
}

/// A step of a plan that is shown, and whether it comes to the number that was asked for.
struct ShownStep {
  std::size_t position = 0;
  bool asked = false;
};

/// The steps that are shown of a plan, those asked for first; empty where the plan has no such number.
std::vector<ShownStep> shown_steps(const CachePlan& plan, const std::optional<AskedNumber>& number) {
  std::vector<ShownStep> shown;
  if (number) {
    const NumberSteps steps = steps_to(plan.derivation, *number);
    for (const std::size_t position : steps.results) shown.push_back({position, true});
    for (const std::size_t position : steps.reasons) shown.push_back({position, false});
  } else {
    for (std::size_t i = 0; i < plan.derivation.size(); ++i) shown.push_back({i, false});
  }
  return shown;
}

nlohmann::ordered_json plan_json(const CachePlan& plan, const std::optional<AskedNumber>& number) {
  auto steps = nlohmann::ordered_json::array();
  for (const ShownStep& one : shown_steps(plan, number)) {
    const Decision& decision = plan.derivation[one.position];
    const nlohmann::ordered_json written = to_json(decision);
    nlohmann::ordered_json step;
    if (number) step = {{"step", one.position + 1}, {"asked", one.asked}};
    for (const auto& [name, value] : written.items()) {
      step[name] = value;
      if (name == "rule") {
        const auto values = substituted_rule(decision);
        step["values"] = values ? nlohmann::ordered_json(*values) : nlohmann::ordered_json(nullptr);
      }
    }
    steps.push_back(std::move(step));
  }
  return {{"release", plan.rules->name},
          {"attention_pack_size", plan.attention_pack_size},
          {"derivation", std::move(steps)}};
}

/// One row per decision that is shown.
Table plan_steps(const CachePlan& plan, const std::optional<AskedNumber>& number) {
  using Row = ShownStep;
  const auto of = [&](const Row& row) -> const Decision& { return plan.derivation[row.position]; };
  const auto result = [&](const Row& row) -> const Term& { return of(row).result; };
  return table_of<Row>(
      {{{"attention_pack_size"}, [&](const Row&) { return plan.attention_pack_size; }},
       {{"step"}, [](const Row& row) { return static_cast<std::int64_t>(row.position) + 1; }},
       {{"symbol"}, [&](const Row& row) { return result(row).symbol; }},
       {{"value"}, [&](const Row& row) { return term_cell(result(row)); }},
       {{"unit"}, [&](const Row& row) { return result(row).unit; }},
       {{"rule"}, [&](const Row& row) { return of(row).rule; }},
       {{"values"}, [&](const Row& row) { return substituted_rule(of(row)); }},
       {{"inputs"}, [&](const Row& row) { return inputs_text(of(row).inputs); }},
       {{"source"}, [&](const Row& row) { return of(row).source; }}},
      shown_steps(plan, number));
}

/// Where a plan comes to the number that was asked for, and what it stands on.
void add_asked_steps(Document& document, const CachePlan& plan, const AskedNumber& number) {
  bool reasons_begun = false;
  for (const ShownStep& step : shown_steps(plan, number)) {
    if (!step.asked && !reasons_begun) document.blocks.emplace_back(Heading{"It stands on", 2});
    reasons_begun = !step.asked;
    add_step(document, plan, step.position);
  }
}

/// The text of one plan: the title before the first, an empty line before the others, the header of CSV once.
std::string plan_text(const ExplainSource& source, const CachePlan& plan, bool first, Format format,
                      const Style& style) {
  if (format == Format::csv) {
    const std::string csv = render_csv(plan_steps(plan, source.number));
    return first ? csv : csv.substr(csv.find('\n') + 1);
  }
  Document document;
  if (first) {
    document.blocks.emplace_back(Heading{
        fmt::format("{}, tensor parallel {}: where {}", source.model, source.tensor_parallel,
                    source.number ? source.number->typed + " comes from" : "the numbers come from"), 1});
    document.blocks.emplace_back(Facts{{{"rules", rules_text(plan)}}});
    if (source.flags && !source.number) {
      document.blocks.emplace_back(Heading{"What the flags of the command do: the plan without each"});
      document.blocks.emplace_back(flag_effects_table(*source.flags));
    }
    if (source.parameters && !source.number) document.blocks.emplace_back(parameters_facts(*source.parameters));
  }
  if (primary_attention(plan) != nullptr)
    document.blocks.emplace_back(Heading{fmt::format("N = {}: {} a page", plan.attention_pack_size,
                                                     human_plural(plan.attention_pack_size, "attention layer"))});
  if (source.number) {
    add_asked_steps(document, plan, *source.number);
  } else {
    std::vector<Block> steps = explain_steps(plan).blocks;
    std::move(steps.begin(), steps.end(), std::back_inserter(document.blocks));
  }
  return (first ? "" : "\n") + render_people(document, format, style);
}

/// The plans that have the number, all where none is asked for. Throws InputError where no plan has it.
std::vector<std::size_t> plans_to_show(const ExplainSource& source) {
  std::vector<std::size_t> shown;
  std::vector<Term> results;
  for (std::size_t i = 0; i < source.num_plans; ++i) {
    if (!source.number) {
      shown.push_back(i);
      continue;
    }
    const CachePlan plan = source.plan_at(i);
    if (!steps_to(plan.derivation, *source.number).results.empty()) shown.push_back(i);
    for (const Decision& decision : plan.derivation) results.push_back(decision.result);
    results = nearest_terms(results, *source.number);
  }
  if (!shown.empty()) return shown;
  std::string nearest;
  for (const Term& term : results) nearest += fmt::format("{}{}", nearest.empty() ? "" : "; ", result_text(term));
  throw InputError(fmt::format("{} is no number of {}{}", source.number->typed,
                               source.num_plans == 1 ? "this plan" : "these plans",
                               nearest.empty() ? ", nor is one near it; without it all of them are explained"
                                               : "; nearest are " + nearest));
}

}  // namespace

std::string term_text(const Term& term) {
  if (const auto* word = std::get_if<std::string>(&term.value)) return *word;
  std::string number;
  bool one = false;
  if (const auto* count = std::get_if<std::int64_t>(&term.value)) {
    if (term.unit == "tokens" && *count >= largest_tokens) return "any length";
    number = human_count(*count);
    one = *count == 1;
  } else {
    // Four decimals at most: enough to recognise the number, the exact one is in json and csv.
    number = human_real(std::get<double>(term.value), 4);
    if (number.find('.') != std::string::npos) number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  if (term.unit.empty()) return number;
  std::string unit = term.unit;
  if (one) {  // "page per group", "kernel block", "token"
    const std::size_t inside = unit.find("s ");
    if (inside != std::string::npos)
      unit.erase(inside, 1);
    else if (unit.back() == 's')
      unit.pop_back();
  }
  return number + " " + unit;
}

Document explain_steps(const CachePlan& plan) {
  Document document;
  for (std::size_t i = 0; i < plan.derivation.size(); ++i) add_step(document, plan, i);
  return document;
}

void write_explain(const ExplainSource& source, Format format, const Style& style,
                   const std::function<void(const std::string&)>& write) {
  expects(source.num_plans > 0, "there is at least one plan");
  const std::vector<std::size_t> shown = plans_to_show(source);
  if (format == Format::json) {
    nlohmann::ordered_json fields{
        {"schema", derivation_schema_id}, {"model", source.model}, {"tensor_parallel", source.tensor_parallel}};
    if (source.parameters && !source.number) fields["parameters"] = parameters_json(*source.parameters);
    if (source.flags) fields["flags"] = to_json(flag_effects_table(*source.flags));
    write_json_list(
        fields, "plans", shown.size(),
        [&](std::size_t i) { return plan_json(source.plan_at(shown[i]), source.number); }, write);
    return;
  }
  for (const std::size_t i : shown)
    write(plan_text(source, source.plan_at(i), i == shown.front(), format, style));
}

}  // namespace hybridkv
