#include "report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ask/compare/compare_verdict.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/plan/figure_cell.h"
#include "report/plan/kernel_json.h"
#include "report/plan/kernel_text.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// "16 | 64 tokens", in the order of the settings; "-" where one has none.
std::string values_text(const std::vector<ComparedValue>& values, const std::string& unit) {
  std::string text;
  for (const ComparedValue& value : values) {
    const std::string one = human_cell(figure_cell(value, unit));
    text += (text.empty() ? "" : " | ") + (one.empty() ? "-" : one);
  }
  return unit.empty() || unit == "%" ? text : text + " " + unit;
}

/// A rule, and the settings that go by it; all that are planned: no names.
struct RuleText {
  std::string rule;
  std::string sources;  // each once
  std::string settings;
};

std::vector<RuleText> texts_of(const ComparedRule& rule, const std::vector<ComparedSetting>& settings) {
  std::vector<RuleText> texts;
  bool is_partial = false;
  for (std::size_t i = 0; i < rule.rules.size(); ++i) {
    is_partial = is_partial || (rule.rules[i].empty() && settings[i].refused.empty());
    if (rule.rules[i].empty()) continue;
    auto same = std::find_if(texts.begin(), texts.end(),
                             [&](const RuleText& known) { return known.rule == rule.rules[i]; });
    if (same == texts.end()) same = texts.insert(texts.end(), {rule.rules[i], {}, {}});
    same->settings += (same->settings.empty() ? "" : ", ") + settings[i].name;
    const std::string source = (same->sources.empty() ? "" : " | ") + rule.sources[i];
    if ((" | " + same->sources + " | ").find(" | " + rule.sources[i] + " | ") == std::string::npos)
      same->sources += source;
  }
  if (texts.size() == 1 && !is_partial) texts.front().settings.clear();
  return texts;
}

std::string inputs_text(const ComparedRule& rule) {
  std::string text;
  for (const ComparedInput& input : rule.inputs)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", input.symbol, values_text(input.values, input.unit));
  return text;
}

/// The rule of the row, then those behind its inputs, which begin with what they decide.
void add_rule(Facts& facts, const ComparedRule& rule, const std::vector<ComparedSetting>& settings, bool of_row) {
  const std::vector<RuleText> texts = texts_of(rule, settings);
  const bool one_source = std::all_of(texts.begin(), texts.end(),
                                      [&](const RuleText& text) { return text.sources == texts.front().sources; });
  for (const RuleText& text : texts) {
    const std::string of = of_row ? std::string() : rule.symbol + (text.settings.empty() ? ": " : ", ");
    const std::string in = text.settings.empty() ? std::string() : fmt::format("in {}: ", text.settings);
    facts.entries.emplace_back(of_row ? "rule" : "where", of + in + text.rule);
    if (!one_source) facts.entries.emplace_back("source", text.sources);
  }
  if (!rule.inputs.empty()) facts.entries.emplace_back("with", inputs_text(rule));
  if (one_source) facts.entries.emplace_back("source", texts.front().sources);
}

Facts facts_of(const ComparedRow& row, const std::vector<ComparedSetting>& settings) {
  Facts facts;
  for (const ComparedRule& rule : row.rules) add_rule(facts, rule, settings, &rule == &row.rules.front());
  return facts;
}

/// All rules of a row in one text, for a cell.
std::string rules_text(const ComparedRow& row, const std::vector<ComparedSetting>& settings) {
  std::string text;
  for (const auto& [label, words] : facts_of(row, settings).entries)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", label, words);
  return text;
}

bool is_nothing(const ComparedRow& row) {
  return std::all_of(row.values.begin(), row.values.end(), [](const ComparedValue& value) {
    return std::holds_alternative<std::monostate>(value) || value == ComparedValue(std::int64_t{0});
  });
}

/// What programs get of a row, and people of those that say something.
Table rows_table(const CompareAnswer& comparison, bool all_rows) {
  using Row = ComparedRow;
  std::vector<Field<Row>> fields{
      {for_programs("name"), &Row::name}, {for_people("what"), &Row::title}, {{"unit", "unit"}, &Row::unit}};
  for (std::size_t i = 0; i < comparison.settings.size(); ++i) {
    const ComparedSetting& setting = comparison.settings[i];
    fields.push_back({{setting.name, setting.name, setting.refused.empty() ? "" : "refused"},
                      [i](const Row& row) { return figure_cell(row.values[i], row.unit); }});
  }
  fields.push_back({for_programs("differs"), &Row::differs});
  fields.push_back({for_programs("rules"), [&](const Row& row) { return rules_text(row, comparison.settings); }});
  Table table = empty_table(fields);
  for (const Row& row : comparison.rows) {
    if (!all_rows && is_nothing(row)) continue;
    table.add_row(cells_of(fields, row));
    if (row.differs) table.mark_row(table.rows().size() - 1);
  }
  return table;
}

/// What all settings are of: "Qwen3.5-397B-A17B at 32,768 tokens", as far as they agree.
std::string title_of(const CompareAnswer& comparison) {
  std::string title = human_plural(std::ssize(comparison.settings), "setting");
  const auto agreed = [&](const char* name) -> std::string {
    for (const ComparedRow& row : comparison.rows) {
      if (row.name != name || row.differs) continue;
      for (const ComparedValue& value : row.values)
        if (const std::string text = human_cell(figure_cell(value, row.unit)); !text.empty()) return text;
    }
    return {};
  };
  if (const std::string model = agreed("model"); !model.empty()) title += " of " + model;
  if (const std::string length = agreed("max_model_len"); !length.empty())
    title += " at " + length + (length == "1" ? " token" : " tokens");
  return title;
}

/// "Best for the cache: N=3 finds 88.15 % of the prompt tokens again and holds …; next comes N=1 with 87.33 % and …".
std::string verdict_text(const CompareAnswer& comparison, const CompareVerdict& verdict) {
  const auto name = [&](const WeighedSetting& one) { return comparison.settings[one.setting].name; };
  const WeighedSetting &taken = verdict.taken, &next = verdict.next;
  std::string same;
  for (const std::size_t other : verdict.same) same += (same.empty() ? "" : ", ") + comparison.settings[other].name;
  if (!same.empty()) same += verdict.same.size() == 1 ? " comes to the same; " : " come to the same; ";
  const std::string holds = fmt::format("{:.1f} requests of the longest length at once", taken.concurrency);
  if (!taken.hit_percent)
    return fmt::format("Best for the cache: {} holds {}; {}next comes {} with {:.1f}. No trace was replayed.",
                       name(taken), holds, same, name(next), next.concurrency);
  const char* const rule =
      *taken.hit_percent < *next.hit_percent ? " Half a per cent of the tokens counts as the same." : "";
  return fmt::format("Best for the cache: {} finds {:.2f} % of the prompt tokens again and holds {}; {}next comes {} "
                     "with {:.2f} % and {:.1f}.{}",
                     name(taken), *taken.hit_percent, holds, same, name(next), *next.hit_percent, next.concurrency,
                     rule);
}

/// Which settings are passed over for the kernels that were asked about; begins with a blank.
std::string passed_over_text(const CompareAnswer& comparison, const CompareVerdict& verdict) {
  if (verdict.taken.harms_kernel) return " None of them suits all kernels.";
  std::string text;
  for (const ComparedSetting& setting : comparison.settings)
    if (harms_kernel(setting.kernels)) {
      const KernelFit& worst = *worst_fit(setting.kernels);
      text += fmt::format(" {} is passed over: {} {}.", setting.name, worst.kernel, words_of(worst.verdict).words);
    }
  return text;
}

/// The verdict of each kernel on each setting.
Table kernels_table_of(const CompareAnswer& comparison) {
  std::vector<NamedFits> layouts;
  for (const ComparedSetting& setting : comparison.settings) layouts.emplace_back(setting.name, setting.kernels);
  return kernel_table(layouts);
}

/// What kernels have against settings, each sentence once with whom it concerns.
Listing kernels_of(const CompareAnswer& comparison) {
  std::vector<std::pair<std::string, std::string>> said;  // of whom
  bool is_warning = false;
  for (const ComparedSetting& setting : comparison.settings) {
    is_warning = is_warning || harms_kernel(setting.kernels);
    for (const KernelFit& fit : setting.kernels) {
      if (fit.verdict <= KernelVerdict::not_used) continue;
      const std::string sentence = kernel_sentence(fit);
      const auto same = std::find_if(said.begin(), said.end(), [&](const auto& one) { return one.first == sentence; });
      if (same == said.end()) said.emplace_back(sentence, setting.name);
      else same->second += ", " + setting.name;
    }
  }
  Listing listing{{}, is_warning};
  for (const auto& [sentence, names] : said) listing.items.push_back(fmt::format("{}: {}", names, sentence));
  return listing;
}

Listing refusals_of(const CompareAnswer& comparison) {
  Listing listing{{}, true};
  for (const ComparedSetting& setting : comparison.settings) {
    if (!setting.refused.empty())
      listing.items.push_back(fmt::format("{} is refused: {}", setting.name, setting.refused));
    for (const std::string& error : setting.start_errors)
      listing.items.push_back(
          fmt::format("{} is planned, but the engine refuses it at its start: {}", setting.name, error));
  }
  return listing;
}

/// As cells of tables are: a length that nothing bounds is no number.
Json json_of(const std::vector<ComparedValue>& values, const std::string& unit) {
  Json list = Json::array();
  for (const ComparedValue& value : values) list.push_back(json_cell(figure_cell(value, unit)));
  return list;
}

/// An empty text is one that a setting does not have.
Json json_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text.empty() ? Json(nullptr) : Json(text));
  return list;
}

Json json_of(const ComparedRule& rule) {
  Json inputs = Json::array();
  for (const ComparedInput& input : rule.inputs)
    inputs.push_back({{"symbol", input.symbol}, {"unit", input.unit}, {"values", json_of(input.values, input.unit)}});
  return {{"symbol", rule.symbol},          {"unit", rule.unit},
          {"values", json_of(rule.values, rule.unit)}, {"rules", json_of(rule.rules)},
          {"sources", json_of(rule.sources)}, {"inputs", std::move(inputs)}};
}

Json json_of(const ComparedSetting& setting) {
  Json overrides = Json::object();
  for (const auto& [key, value] : setting.overrides) overrides[key] = value.empty() ? Json(nullptr) : Json(value);
  Json json{{"name", setting.name},
            {"scenario", setting.scenario},
            {"overrides", std::move(overrides)},
            {"refused", setting.refused.empty() ? Json(nullptr) : Json(setting.refused)},
            {"start_errors", Json(setting.start_errors)}};
  if (!setting.kernels.empty()) json["kernels"] = JsonWriter::encode(setting.kernels);
  return json;
}

Json json_of(const CompareAnswer& comparison) {
  Json settings = Json::array(), rows = Json::array();
  for (const ComparedSetting& setting : comparison.settings) settings.push_back(json_of(setting));
  for (const ComparedRow& row : comparison.rows) {
    Json rules = Json::array();
    for (const ComparedRule& rule : row.rules) rules.push_back(json_of(rule));
    rows.push_back({{"name", row.name},
                    {"unit", row.unit},
                    {"values", json_of(row.values, row.unit)},
                    {"differs", row.differs},
                    {"rules", std::move(rules)}});
  }
  const std::optional<CompareVerdict> verdict = compare_verdict(comparison);
  return {{"schema", compare_schema_id},
          {"best", verdict ? Json(comparison.settings[verdict->taken.setting].name) : Json(nullptr)},
          {"settings", std::move(settings)},
          {"rows", std::move(rows)}};
}

}  // namespace

Table compare_table(const CompareAnswer& comparison) {
  Table table = rows_table(comparison, true);
  const Table kernels = kernels_table_of(comparison);
  for (const std::vector<Cell>& verdicts : kernels.rows()) {
    std::vector<Cell> cells{figure_of_kernel(std::get<std::string>(verdicts.front())), std::string(), std::string()};
    std::set<std::string> said;
    for (std::size_t i = 1; i < verdicts.size(); ++i) {
      cells.push_back(verdicts[i]);
      if (comparison.settings[i - 1].refused.empty()) said.insert(std::get<std::string>(verdicts[i]));
    }
    cells.emplace_back(said.size() > 1);
    cells.emplace_back(std::string());
    table.add_row(std::move(cells));
  }
  return table;
}

Document compare_document(const CompareAnswer& comparison, CompareRules rules) {
  Document document;
  document.blocks.emplace_back(Heading{title_of(comparison), 1});
  if (const std::optional<CompareVerdict> verdict = compare_verdict(comparison))
    document.blocks.emplace_back(
        Paragraph{verdict_text(comparison, *verdict) + passed_over_text(comparison, *verdict)});
  document.blocks.emplace_back(rows_table(comparison, false));
  if (Listing refusals = refusals_of(comparison); !refusals.items.empty())
    document.blocks.emplace_back(std::move(refusals));
  if (Table kernels = kernels_table_of(comparison); !kernels.rows().empty()) {
    document.blocks.emplace_back(Heading{"Kernels"});
    document.blocks.emplace_back(std::move(kernels));
    document.blocks.emplace_back(kernels_of(comparison));
  }
  if (rules == CompareRules::hidden) return document;
  const auto differing = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                       [](const ComparedRow& row) { return row.differs; });
  if (differing == 0) {
    document.blocks.emplace_back(Paragraph{"Nothing differs."});
    return document;
  }
  document.blocks.emplace_back(Heading{"What makes the marked rows differ"});
  std::string above;  // of which a row with a dash is a part
  for (const ComparedRow& row : comparison.rows) {
    const bool is_part = row.title.starts_with("- ");
    if (!is_part) above = row.title;
    if (!row.differs) continue;
    const std::string title = is_part ? above + ", " + row.title.substr(2) : row.title;
    document.blocks.emplace_back(Heading{fmt::format("{}: {}", title, values_text(row.values, row.unit)), 3});
    if (Facts facts = facts_of(row, comparison.settings); !facts.entries.empty())
      document.blocks.emplace_back(std::move(facts));
  }
  return document;
}

std::string render_compare(const CompareAnswer& comparison, Format format, const Style& style, CompareRules rules) {
  if (format == Format::json) return json_text(json_of(comparison));
  if (format == Format::csv) return render_csv(compare_table(comparison));
  return render_people(compare_document(comparison, rules), format, style);
}

}  // namespace hybridkv
