#include "report/models_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/document.h"
#include "report/json_text.h"
#include "report/plan/plan_table.h"
#include "report/plan/rules_text.h"

namespace hybridkv {

namespace {

/// What the layers of one side of a model are: attention, or recurrent.
struct LayersOfSide {
  std::int64_t count = 0;
  std::vector<std::string> kinds;  ///< in the order of the plan, each once
  std::string kinds_text() const { return fmt::format("{}", fmt::join(kinds, " + ")); }
};

LayersOfSide layers_of(const CachePlan& plan, bool attention) {
  LayersOfSide side;
  for (const SpecPlan& spec : plan.specs) {
    if (spec.attention.has_value() != attention || spec.auxiliary) continue;
    side.count += static_cast<std::int64_t>(spec.layers.size());
    side.kinds.push_back(spec.kind);
  }
  return side;
}

/// "12 full + 36 gdn": for people, to whom attention needs no second word.
std::string layers_text(const LayersOfSide& attention, const LayersOfSide& recurrent) {
  std::vector<std::string> sides;
  for (const LayersOfSide* side : {&attention, &recurrent}) {
    if (side->count == 0) continue;
    std::vector<std::string> kinds = side->kinds;
    for (std::string& kind : kinds)
      if (kind == to_string(AttentionKind::full)) kind = "full";
    sides.push_back(fmt::format("{} {}", side->count, fmt::join(kinds, "/")));
  }
  return fmt::format("{}", fmt::join(sides, " + "));
}

std::vector<std::string> unverified_facts(const ListedModel& one) {
  std::vector<std::string> facts = one.unverified;
  if (!one.model.layer_order_verified) facts.insert(facts.begin(), "layer order");
  return facts;
}

/// "chunk size", "groups +2": all of them would make the table too wide.
std::string doubt_text(const std::vector<std::string>& unverified) {
  if (unverified.empty()) return "";
  return unverified.front() + (unverified.size() > 1 ? fmt::format(" +{}", unverified.size() - 1) : "");
}

/// Names of other models by the listed one that they share their shapes with.
Facts alias_facts(std::span<const ListedModel> models) {
  Facts facts;
  for (const ListedModel& one : models)
    if (!one.aliases.empty())
      facts.entries.emplace_back(one.model.name, fmt::format("also {}", fmt::join(one.aliases, ", ")));
  return facts;
}

Document models_document(std::span<const ListedModel> models) {
  Document document;
  document.blocks.emplace_back(models_table(models));
  const EngineSpec plain;
  document.blocks.emplace_back(Paragraph{
      "On one rank, without any flag, by the rules of " + rules_text(*plain.rules, plain.backend_profile) +
      ": a1 is what a token costs in one layer of attention, M one state of one recurrent layer (the largest), block "
      "and "
      "padding those of the uniform page, N = 1. What is not verified could not be confirmed in the published config; "
      "csv and json name all of it, and every source."});
  Facts aliases = alias_facts(models);
  if (!aliases.entries.empty()) document.blocks.emplace_back(std::move(aliases));
  return document;
}

}  // namespace

Table models_table(std::span<const ListedModel> models) {
  constexpr Audience people = Audience::people;
  constexpr Audience programs = Audience::programs;
  Table table({{"model", "model", "", Align::left},
               {"family", "family", "", Align::left, programs},
               {"layers", "layers", "", Align::left, people},
               {"attention_layers", "attention layers", "", Align::right, programs},
               {"attention_kind", "attention", "", Align::left, programs},
               {"recurrent_layers", "recurrent", "layers", Align::right, programs},
               {"bytes_per_token", "a1", "bytes"},
               {"state_bytes", "M", "bytes"},
               {"block_size_tokens", "block", "tokens"},
               {"padding_percent", "pad"},
               {"verified", "verified", "", Align::left, programs},
               {"unverified", "verified", "", Align::left, programs},
               {"doubt", "not verified", "", Align::left, people},
               {"aliases", "also", "", Align::left, programs},
               {"source", "source", "", Align::left, programs}});
  for (const ListedModel& one : models) {
    const CachePlan& plan = one.plan;
    const LayersOfSide attention = layers_of(plan, true);
    const LayersOfSide recurrent = layers_of(plan, false);
    const SpecPlan* token = primary_attention(plan);
    const SpecPlan* state = largest_state(plan);
    const std::vector<std::string> unverified = unverified_facts(one);
    table.add_row({one.model.name, recurrent.kinds_text(), layers_text(attention, recurrent), attention.count,
                   attention.kinds_text(), recurrent.count,
                   token != nullptr ? Cell(token->bytes_per_token) : Cell(std::monostate{}),
                   state != nullptr ? Cell(state->state->bytes) : Cell(std::monostate{}),
                   token != nullptr ? Cell(token->block_size_tokens) : Cell(std::monostate{}),
                   state != nullptr ? Cell(Percent{state->padding_percent}) : Cell(std::monostate{}),
                   unverified.empty(), fmt::format("{}", fmt::join(unverified, ", ")), doubt_text(unverified),
                   fmt::format("{}", fmt::join(one.aliases, ", ")), one.model.source});
  }
  return table;
}

std::string render_models(std::span<const ListedModel> models, Format format, const Style& style) {
  switch (format) {
    case Format::json: return json_text(to_json(models_table(models)));
    case Format::csv: return render_csv(models_table(models));
    case Format::markdown: return render_markdown(models_document(models));
    case Format::table: break;
  }
  return render_text(models_document(models), style);
}

}  // namespace hybridkv
