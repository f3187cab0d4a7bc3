#include "report/models_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"
#include "report/plan/parameters_facts.h"
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

/// A kind of attention in one word, as people see it beside the number of its layers.
std::string short_kind(const std::string& kind) {
  if (kind == to_string(AttentionKind::full)) return "full";
  if (kind == to_string(AttentionKind::sliding_window)) return "window";
  return kind == to_string(AttentionKind::chunked_local) ? "chunked" : kind;
}

/// "12 full + 36 gdn": for people, to whom attention needs no second word.
std::string layers_text(const LayersOfSide& attention, const LayersOfSide& recurrent) {
  std::vector<std::string> sides;
  for (const LayersOfSide* side : {&attention, &recurrent}) {
    if (side->count == 0) continue;
    std::vector<std::string> kinds;
    for (const std::string& kind : side->kinds) kinds.push_back(short_kind(kind));
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

std::string joined_text(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// Names of other models by the listed one that they share their shapes with.
Facts alias_facts(std::span<const ListedModel> models) {
  Facts facts;
  for (const ListedModel& one : models)
    if (!one.aliases.empty())
      facts.entries.emplace_back(one.model.name, fmt::format("also {}", fmt::join(one.aliases, ", ")));
  return facts;
}

/// The models of which nobody counted parameters.
std::string without_parameters(std::span<const ListedModel> models) {
  std::vector<std::string> names;
  for (const ListedModel& one : models)
    if (!one.model.parameters) names.push_back(one.model.name);
  return joined_text(names);
}

/// A column that a narrow terminal has no room for, and what it says.
struct Dispensable {
  std::string_view title, subtitle, meaning;
};

/// The first go first.
constexpr Dispensable dispensable[] = {{"not verified", "", "what is not verified"},
                                       {"params", "active", "active parameters"},
                                       {"pad", "", "padding"},
                                       {"block", "tokens", "block"},
                                       {"params", "all", "parameters"}};

std::string total_text(const ModelParameters& parameters) { return parameter_count_text(total_parameters(parameters)); }

/// Nothing where a token takes them all.
std::string active_text(const ModelParameters& parameters) {
  return parameters.experts == 0 ? std::string() : parameter_count_text(active_parameters(parameters));
}

/// The table without the first `left_out` of the dispensable columns.
Table table_without(std::span<const ListedModel> models, std::size_t left_out) {
  using Row = ListedModel;
  const auto layers = [](bool attention, auto member) {
    return [=](const Row& row) { return std::invoke(member, layers_of(row.plan, attention)); };
  };
  const auto of_tokens = [](auto getter) {
    return where([](const Row& row) { return primary_attention(row.plan) != nullptr; },
                 [=](const Row& row) { return std::invoke(getter, primary_attention(row.plan)); });
  };
  const auto of_parameters = [](auto getter) {
    return where([](const Row& row) { return row.model.parameters.has_value(); },
                 [=](const Row& row) { return getter(*row.model.parameters); });
  };
  const auto of_states = [](auto getter) {
    return where([](const Row& row) { return largest_state(row.plan) != nullptr; },
                 [=](const Row& row) { return std::invoke(getter, largest_state(row.plan)); });
  };
  std::vector<Field<Row>> fields{
      {{"model", "model"}, via(&Row::model, &ModelSpec::name)},
      {for_programs("family"), layers(false, &LayersOfSide::kinds_text)},
      {for_people("layers"),
       [](const Row& row) { return layers_text(layers_of(row.plan, true), layers_of(row.plan, false)); }},
      {for_programs("parameters"), of_parameters(total_parameters)},
      {for_programs("active_parameters"), of_parameters(active_parameters)},
      {for_people("params", "all", Align::right), of_parameters(total_text)},
      {for_people("params", "active", Align::right), of_parameters(active_text)},
      {for_programs("attention_layers"), layers(true, &LayersOfSide::count)},
      {for_programs("attention_kind"), layers(true, &LayersOfSide::kinds_text)},
      {for_programs("recurrent_layers"), layers(false, &LayersOfSide::count)},
      {{"bytes_per_token", "a1", "bytes"}, of_tokens(&SpecPlan::bytes_per_token)},
      {{"state_bytes", "M", "bytes"}, of_states(via(&SpecPlan::state, &StateSpec::bytes))},
      {{"block_size_tokens", "block", "tokens"}, of_tokens(&SpecPlan::block_size_tokens)},
      {{"padding_percent", "pad"}, of_states(as<Percent>(&SpecPlan::padding_percent))},
      {for_programs("verified"), [](const Row& row) { return unverified_facts(row).empty(); }},
      {for_programs("unverified"), via(unverified_facts, joined_text)},
      {for_people("not verified"), via(unverified_facts, doubt_text)},
      {for_programs("aliases"), via(&Row::aliases, joined_text)},
      {for_programs("source"), via(&Row::model, &ModelSpec::source)}};
  for (std::size_t i = 0; i < left_out; ++i)
    for (Field<Row>& field : fields)
      field.shown = field.shown && (field.column.title != dispensable[i].title ||
                                    field.column.subtitle != dispensable[i].subtitle);
  return table_of<Row>(fields, models);
}

/// The widest table that a terminal has room for, and what is left out then.
Table table_of_width(std::span<const ListedModel> models, int width, std::string& left_out) {
  std::size_t without = 0;
  Table table = table_without(models, without);
  while (text_width(table) > width && without < std::size(dispensable)) {
    left_out += (left_out.empty() ? "" : ", ") + std::string(dispensable[without].meaning);
    table = table_without(models, ++without);
  }
  return table;
}

Document models_document(std::span<const ListedModel> models, Format format, const Style& style) {
  Document document;
  std::string left_out;
  document.blocks.emplace_back(format == Format::table ? table_of_width(models, style.width, left_out)
                                                       : models_table(models));
  const EngineSpec plain;
  document.blocks.emplace_back(Paragraph{
      "On one rank, without any flag, by the rules of " + rules_text(*plain.rules, plain.backend_profile) +
      ": a1 is what a token costs in one layer of attention, M one state of one recurrent layer (the largest), block "
      "and padding those of the uniform page, N = 1. What is not verified could not be confirmed in the published "
      "config; csv and json name all of it, and every source."});
  if (!left_out.empty())
    document.blocks.emplace_back(
        Paragraph{"Left out, as the terminal is too narrow: " + left_out + ". --format csv and json have all."});
  if (const std::string names = without_parameters(models); !names.empty())
    document.blocks.emplace_back(Paragraph{"No parameters are known, so that boot needs --weights, of " + names +
                                           ": write the key parameters into the file of a model."});
  Facts aliases = alias_facts(models);
  if (!aliases.entries.empty()) document.blocks.emplace_back(std::move(aliases));
  return document;
}

}  // namespace

Table models_table(std::span<const ListedModel> models) { return table_without(models, 0); }

std::string render_models(std::span<const ListedModel> models, Format format, const Style& style) {
  if (format == Format::json) return json_text(to_json(models_table(models)));
  if (format == Format::csv) return render_csv(models_table(models));
  return render_people(models_document(models, format, style), format, style);
}

}  // namespace hybridkv
