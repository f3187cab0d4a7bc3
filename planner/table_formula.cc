#include "planner/table_formula.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hybridkv {

namespace {

/// Tokens of which entries are kept beside those of a window: the tokens in flight.
std::string in_flight_text(const TokensInFlight& in_flight, std::vector<Term>& inputs) {
  std::string text(in_flight.batch_symbol);
  inputs.push_back({text, in_flight.batch, "tokens"});
  if (in_flight.batches > 1) {
    inputs.push_back({"batches in flight", in_flight.batches, ""});
    text += " * batches in flight";
  }
  if (in_flight.looked_ahead > 1) {
    inputs.push_back({"tokens looked ahead", in_flight.looked_ahead, "tokens"});
    text += " + tokens looked ahead - 1";
  }
  return text;
}

/// The entries that come with the tokens.
std::string grown_text(const TableRule& rule, std::vector<Term>& inputs) {
  if (rule.ranks > 1) {
    inputs.push_back({"DCP", rule.ranks, ""});
    return "ceil(ceil(L / DCP) / block)";
  }
  if (!rule.is_windowed()) return rule.only_whole_blocks ? "floor(L / block)" : "ceil(L / block)";
  inputs.push_back({"window", rule.mask.window_tokens, "tokens"});
  const bool slides = rule.mask.kind == MaskKind::sliding_window;
  return fmt::format("ceil(min(window {}+ {}, L) / block){}", slides ? "- 1 " : "",
                     in_flight_text(rule.in_flight, inputs), slides ? " + 1" : "");
}

}  // namespace

std::string TableFormula::text() const { return "ids = " + entries + (why.empty() ? "" : ": " + why); }

TableFormula table_formula(const TableRule& rule, std::int64_t tokens) {
  TableFormula formula{.why = std::string(rule.why)};
  std::vector<std::string> parts;
  if (rule.block_tokens > 0) {
    const bool is_encoder = rule.encoder_tokens > 0;
    formula.inputs = {is_encoder ? Term{"E", rule.encoder_tokens, "tokens"} : Term{"L", tokens, "tokens"},
                      {"block", rule.block_tokens, "tokens"}};
    parts.push_back(is_encoder ? "ceil(E / block)" : grown_text(rule, formula.inputs));
  }
  if (const std::int64_t fixed = rule.states + rule.rings; !rule.states_symbol.empty()) {
    parts.emplace_back(rule.states_symbol);
    formula.inputs.push_back({parts.back(), fixed, "slots"});
  } else if (fixed > 0) {
    parts.push_back(std::to_string(fixed));
  }
  if (rule.drafts) {
    parts.emplace_back(rule.drafts_symbol);
    formula.inputs.push_back({parts.back(), *rule.drafts, "tokens"});
  }
  if (rule.exported > 0) {
    parts.emplace_back("c");
    formula.inputs.push_back({"c", rule.exported, "blocks"});
  }
  formula.entries = fmt::format("{}", fmt::join(parts, " + "));
  return formula;
}

TableFormula ids_formula(const TableRule& rule, const GroupPlan& group, std::int64_t tokens) {
  TableFormula formula = table_formula(rule, tokens);
  if (group.entries_per_id > 1) {
    formula.inputs.push_back({"k", group.entries_per_id, ""});
    formula.entries = "ceil((" + formula.entries + ") / k)";
    formula.why += std::string(formula.why.empty() ? "" : "; ") + "the small pages of a large page go to one request";
  } else if (group.ids_per_entry > 1) {
    formula.inputs.push_back({"ids of an entry", group.ids_per_entry, "ids"});
    formula.entries = "ids of an entry * (" + formula.entries + ")";
  }
  return formula;
}

}  // namespace hybridkv
