#include "report/plan/explain_report.h"

#include <fmt/format.h>

#include <iterator>

#include "base/error.h"
#include "planner/primary_attention.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
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

nlohmann::ordered_json plan_json(const CachePlan& plan) {
  auto steps = nlohmann::ordered_json::array();
  for (const Decision& decision : plan.derivation) {
    const nlohmann::ordered_json written = to_json(decision);
    nlohmann::ordered_json step;
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

/// One row per decision.
Table plan_steps(const CachePlan& plan) {
  using Row = Decision;
  const auto of = [](auto member) { return via(&Row::result, member); };
  return table_of<Row>(
      {{{"attention_pack_size"}, [&](const Row&) { return plan.attention_pack_size; }},
       {{"step"}, [&](const Row& row) { return &row - plan.derivation.data() + 1; }},
       {{"symbol"}, of(&Term::symbol)},
       {{"value"}, via(&Row::result, term_cell)},
       {{"unit"}, of(&Term::unit)},
       {{"rule"}, &Row::rule},
       {{"values"}, substituted_rule},
       {{"inputs"}, [](const Row& row) { return inputs_text(row.inputs); }},
       {{"source"}, &Row::source}},
      plan.derivation);
}

/// The text of one plan: the title before the first, an empty line before the others, the header of CSV once.
std::string plan_text(const ExplainSource& source, std::size_t i, Format format, const Style& style) {
  const CachePlan plan = source.plan_at(i);
  if (format == Format::csv) {
    const std::string csv = render_csv(plan_steps(plan));
    return i == 0 ? csv : csv.substr(csv.find('\n') + 1);
  }
  Document document;
  if (i == 0) {
    document.blocks.emplace_back(Heading{
        fmt::format("{}, tensor parallel {}: where the numbers come from", source.model, source.tensor_parallel), 1});
    document.blocks.emplace_back(Facts{{{"rules", rules_text(plan)}}});
    if (source.parameters) document.blocks.emplace_back(parameters_facts(*source.parameters));
  }
  if (primary_attention(plan) != nullptr)
    document.blocks.emplace_back(Heading{fmt::format("N = {}: {} a page", plan.attention_pack_size,
                                                     human_plural(plan.attention_pack_size, "attention layer"))});
  std::vector<Block> steps = explain_steps(plan).blocks;
  std::move(steps.begin(), steps.end(), std::back_inserter(document.blocks));
  return (i == 0 ? "" : "\n") + render_people(document, format, style);
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
  std::size_t step = 0;
  for (const Decision& decision : plan.derivation) {
    document.blocks.emplace_back(Heading{fmt::format("{}. {}", ++step, result_text(decision.result)), 3});
    Facts facts{{{"rule", decision.rule}}};
    if (const auto values = substituted_rule(decision)) facts.entries.emplace_back("values", *values);
    if (!decision.inputs.empty()) facts.entries.emplace_back("with", inputs_text(decision.inputs));
    facts.entries.emplace_back("source", decision.source);
    document.blocks.emplace_back(std::move(facts));
  }
  return document;
}

void write_explain(const ExplainSource& source, Format format, const Style& style,
                   const std::function<void(const std::string&)>& write) {
  expects(source.num_plans > 0, "there is at least one plan");
  if (format == Format::json) {
    nlohmann::ordered_json fields{
        {"schema", derivation_schema_id}, {"model", source.model}, {"tensor_parallel", source.tensor_parallel}};
    if (source.parameters) fields["parameters"] = parameters_json(*source.parameters);
    write_json_list(fields, "plans", source.num_plans, [&](std::size_t i) { return plan_json(source.plan_at(i)); },
                    write);
    return;
  }
  for (std::size_t i = 0; i < source.num_plans; ++i) write(plan_text(source, i, format, style));
}

}  // namespace hybridkv
