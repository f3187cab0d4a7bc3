#include "ask/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/compare/compare_rows.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/replay/layout_bound.h"
#include "ask/replay/replay_settings.h"
#include "base/error.h"
#include "base/first_line.h"
#include "planner/plan_facts.h"

namespace hybridkv {

namespace {

/// The plans of a comparison; unset where a setting is refused.
struct Planned {
  std::vector<std::optional<PlanSet>> sets;  // of one plan each
  std::vector<InputError> refusals;

  std::optional<PlannedSetting> at(std::size_t i, const std::vector<CompareSetting>& settings) const {
    if (!sets[i]) return std::nullopt;
    const CachePlan& plan = sets[i]->plans.front();
    return PlannedSetting{settings[i].scenario, plan, capacity_of(plan, longest_length(*sets[i]))};
  }
};

Planned plan_all(const std::vector<CompareSetting>& settings, const std::vector<KernelCard>& kernels,
                 CompareAnswer& comparison) {
  Planned planned;
  for (const CompareSetting& setting : settings) {
    ComparedSetting& answer = comparison.settings.emplace_back();
    answer.name = setting.name;
    answer.scenario = setting.scenario.name;
    answer.overrides = setting.overrides;
    std::optional<PlanSet>& set = planned.sets.emplace_back();
    try {
      set = plan_scenario(setting.scenario, setting.scenario.pack_sizes,
                          kernels.empty() ? PlanDetail::derived : PlanDetail::full);
    } catch (const InputError& error) {
      answer.refused = first_line(error.what());
      planned.refusals.push_back(error);
      continue;
    }
    CachePlan& plan = set->plans.front();
    judge_kernels(kernels, plan);
    answer.kernels = plan.kernels;
    for (const std::string& error : {plan.prefix.match_error, plan.view_error})
      if (!error.empty()) answer.start_errors.push_back(error);
  }
  return planned;
}

[[noreturn]] void refuse_all(const CompareAnswer& comparison, const std::vector<InputError>& refusals) {
  const auto& settings = comparison.settings;
  const bool alike = std::all_of(settings.begin(), settings.end(), [&](const ComparedSetting& setting) {
    return setting.refused == settings.front().refused;
  });
  if (alike) throw refusals.front();
  std::string text = "every setting is refused:";
  for (const ComparedSetting& setting : settings) text += fmt::format("\n  {}: {}", setting.name, setting.refused);
  throw InputError(text);
}

const ComparedRow& row_called(const CompareAnswer& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.name == name; });
  expects(found != comparison.rows.end(), "a row is computed with others that there are");
  return *found;
}

/// How a number that no decision gives follows from others. `row`: the row of the number, with the rules behind it.
ComparedRule own_rule(const CompareRow& asked, const ComparedRow& row, const CompareAnswer& comparison) {
  constexpr const char* source = "arithmetic of these plans";
  ComparedRule rule{row.title.starts_with("- ") ? row.title.substr(2) : row.title, row.unit, row.values, {}, {}, {}};
  std::vector<bool> absent;
  for (const ComparedValue& value : row.values) {
    absent.push_back(std::holds_alternative<std::monostate>(value));
    rule.rules.push_back(absent.back() ? std::string() : asked.rule);
    rule.sources.emplace_back(absent.back() ? "" : source);
  }
  for (const auto& [name, symbol] : asked.from)
    if (const ComparedRow& other = row_called(comparison, name); values_differ(other.values, absent))
      rule.inputs.push_back({symbol, other.unit, other.values});
  if (!asked.from.empty() || row.rules.empty()) return rule;
  const ComparedRule& behind = row.rules.front();
  if (values_differ(behind.values, absent)) rule.inputs.push_back({behind.symbol, behind.unit, behind.values});
  else rule.inputs = behind.inputs;
  return rule;
}

/// The rule of a value that the user sets and nothing derives: it names the key.
ComparedRule rule_of_key(const CompareRow& row, const std::vector<ComparedValue>& values) {
  ComparedRule rule{row.name, row.unit, values, {}, {}, {}};
  for (const ComparedValue& value : values) {
    const bool set = !std::holds_alternative<std::monostate>(value);
    rule.rules.emplace_back(set ? "as set, or the default" : "");
    rule.sources.emplace_back(set ? row.key : "");
  }
  return rule;
}

/// What a trace finds in the caches of the settings.
void add_replay(CompareAnswer& comparison, const std::vector<CompareSetting>& settings,
                const std::vector<bool>& refused, const CompareReplay& replay) {
  std::vector<bool> planned = refused;
  planned.flip();
  const auto replayed = replay_settings(settings, planned, replay.on_progress);
  const auto add_row = [&](const char* name, const char* title, const char* unit, auto value) {
    ComparedRow& row = comparison.rows.emplace_back(ComparedRow{name, title, unit, {}, false, {}, {}});
    row.values.resize(replayed.size());
    for (std::size_t i = 0; i < replayed.size(); ++i)
      if (replayed[i]) row.values[i] = value(*replayed[i]);
    row.differs = values_differ(row.values, refused);
  };
  const auto add = [&](const char* name, const char* title, const char* unit, auto value) {
    add_row(name, title, unit, [&](const ReplayedIndex& one) { return value(one.counts()); });
  };
  using One = ReplayCounts;
  const auto percent = [](std::int64_t part, const One& one) { return 100 * one.rate(part); };
  add("replayed_requests", "requests replayed", "", [](const One& one) { return one.ended(); });
  add("replay_refused", "- refused", "", [](const One& one) { return one.requests - one.ended(); });
  add("prompt_tokens", "prompt tokens", "tokens", [](const One& one) { return one.taken_prompt_tokens; });
  add("hit_tokens", "found again", "tokens", [](const One& one) { return one.hit_tokens; });
  add("hit_rate_percent", "- of the prompts", "%", [&](const One& one) { return percent(one.hit_tokens, one); });
  add("requests_with_hit", "- by requests", "", [](const One& one) { return one.requests_with_hit; });
  add("kv_match_percent", "- by attention alone", "%", [&](const One& one) {
    return percent(one.kv_match_tokens, one);
  });
  add_row("token_exact_percent", "- by an ideal cache", "%", [](const ReplayedIndex& one) {
    return 100 * one.counts().rate(one.token_exact_hit_tokens.value_or(0));
  });
  std::vector<const Scenario*> scenarios;
  for (std::size_t i = 0; i < settings.size(); ++i) scenarios.push_back(replayed[i] ? &settings[i].scenario : nullptr);
  auto layouts = layout_bounds(scenarios);
  for (std::size_t i = 0; i < layouts.size(); ++i)
    if (layouts[i]) add_found(*layouts[i], figures_of(*replayed[i]));
  if (std::any_of(layouts.begin(), layouts.end(), [](const auto& bound) { return bound.has_value(); })) {
    const auto add_bound = [&](const char* name, const char* title, std::int64_t LayoutBound::*tokens) {
      ComparedRow& row = comparison.rows.emplace_back(ComparedRow{name, title, "%", {}, false, {}, {}});
      row.values.resize(layouts.size());
      for (std::size_t i = 0; i < layouts.size(); ++i)
        if (layouts[i]) row.values[i] = 100 * layouts[i]->rate((*layouts[i]).*tokens);
      row.differs = values_differ(row.values, refused);
    };
    add_bound("feasible_percent", "- possible, at least", &LayoutBound::feasible_tokens);
    add_bound("upper_percent", "- by no policy more than", &LayoutBound::upper_tokens);
  }
  add("prefilled_tokens", "prefilled", "tokens", [](const One& one) { return one.prompt_tokens - one.hit_tokens; });
  add("checkpoints_made", "states kept", "", [](const One& one) { return one.checkpoints_made; });
  add("checkpoints_used", "- used", "", [](const One& one) { return one.checkpoints_used; });
  add("checkpoints_evicted", "- evicted", "", [](const One& one) { return one.checkpoints_evicted; });
}

}  // namespace

std::size_t CompareAnswer::num_refused() const {
  return static_cast<std::size_t>(std::count_if(
      settings.begin(), settings.end(), [](const ComparedSetting& setting) { return !setting.refused.empty(); }));
}

CompareAnswer compare(const std::vector<CompareSetting>& settings, const CompareReplay& replay,
                      const std::vector<KernelCard>& kernels) {
  expects(!settings.empty(), "there are settings to compare");
  CompareAnswer comparison;
  const Planned planned = plan_all(settings, kernels, comparison);
  if (comparison.num_refused() == settings.size()) refuse_all(comparison, planned.refusals);

  std::vector<ComparedDerivation> derivations;
  std::vector<bool> refused;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto setting = planned.at(i, settings);
    refused.push_back(!setting);
    derivations.push_back(setting ? ComparedDerivation{&setting->plan.derivation, setting->capacity.max_model_len}
                                  : ComparedDerivation{});
  }
  std::vector<RowSymbols> symbols;
  for (const CompareRow& row : compare_rows()) {
    ComparedRow& answer = comparison.rows.emplace_back();
    answer.name = row.name;
    answer.title = row.title;
    answer.unit = row.unit;
    RowSymbols& of_row = symbols.emplace_back();
    of_row.is_part = !row.rule.empty();
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto setting = planned.at(i, settings);
      answer.values.push_back(setting ? row.value(*setting) : ComparedValue());
      of_row.symbols.push_back(setting && row.symbol ? row.symbol(*setting) : std::string());
      const std::string& symbol = of_row.symbols.back();
      answer.symbols.push_back(setting && derivations[i].find(symbol) != nullptr ? symbol : std::string());
    }
    answer.differs = values_differ(answer.values, refused);
  }
  const RowRules rules(std::move(derivations), std::move(symbols));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    ComparedRow& row = comparison.rows[i];
    if (!row.differs) continue;
    row.rules = rules.of_row(i);
    const CompareRow& asked = compare_rows()[i];
    if (!asked.rule.empty()) row.rules.insert(row.rules.begin(), own_rule(asked, row, comparison));
    if (row.rules.empty() && !asked.key.empty()) row.rules.push_back(rule_of_key(asked, row.values));
  }
  if (replay.wanted) add_replay(comparison, settings, refused, replay);
  return comparison;
}

}  // namespace hybridkv
