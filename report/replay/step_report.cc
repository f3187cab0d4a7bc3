#include "report/replay/step_report.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

std::string number_text(const TermFactor& factor) {
  constexpr double most_digits = 1e9, tera = 1e12;
  switch (factor.unit) {
    case FactorUnit::seconds: return human_seconds(factor.value);
    case FactorUnit::flops_per_second: return fmt::format("{:.4g} TFLOP/s", factor.value / tera);
    case FactorUnit::bytes_per_second: return fmt::format("{:.4g} TB/s", factor.value / tera);
    case FactorUnit::things: break;
  }
  return factor.value == std::round(factor.value) && factor.value < most_digits
             ? human_count(static_cast<std::int64_t>(factor.value))
             : fmt::format("{:.4g}", factor.value);
}

std::string factor_text(const TermFactor& factor) {
  return factor.what.empty() ? number_text(factor) : fmt::format("{} {}", number_text(factor), factor.what);
}

/// "2 x 3,456 weights x 2,112 rows / 989 TFLOP/s".
std::string term_text(const StepTerm& term) {
  std::string text;
  for (const TermFactor& factor : term.times) text += (text.empty() ? "" : " x ") + factor_text(factor);
  for (const TermFactor& factor : term.over)
    if (factor.value != 1) text += " / " + factor_text(factor);
  return text;
}

struct PartRow {
  StepPart part;
  double seconds;
  double of_step;
  std::optional<double> of_kinds[term_kind_names.size()];
};

std::vector<PartRow> part_rows(const StepAnswer& answer) {
  std::vector<PartRow> rows;
  for (const StepPart part : all_step_parts) {
    if (answer.parts[part] == 0) continue;
    PartRow row{part, answer.parts[part], answer.parts.total(), {}};
    for (const StepTerm& term : answer.terms)
      if (term.part == part) {
        std::optional<double>& seconds = row.of_kinds[static_cast<std::size_t>(term.kind)];
        seconds = seconds.value_or(0) + term.seconds();
      }
    rows.push_back(row);
  }
  return rows;
}

std::optional<double> of_kind(const PartRow& row, TermKind kind) {
  return row.of_kinds[static_cast<std::size_t>(kind)];
}

Table parts_table(const StepAnswer& answer) {
  std::vector<Field<PartRow>> fields{
      {{"part", "part"}, &PartRow::part},
      {for_people("time", "", Align::right), [](const PartRow& row) { return human_seconds(row.seconds); }},
      {for_programs("seconds"), [](const PartRow& row) { return Real{row.seconds, 6}; }},
      {{"share", "share"}, [](const PartRow& row) { return Percent{100 * row.seconds / row.of_step, 1}; }}};
  for (const TermKind kind : {TermKind::flops, TermKind::bytes}) {
    fields.push_back({for_people(kind == TermKind::flops ? "FLOPs" : "bytes", "alone", Align::right),
                      [kind](const PartRow& row) {
                        const auto seconds = of_kind(row, kind);
                        return seconds ? human_seconds(*seconds) : "";
                      }});
    fields.push_back({for_programs(fmt::format("{}_seconds", to_string(kind))), [kind](const PartRow& row) {
                        const auto seconds = of_kind(row, kind);
                        return seconds ? std::optional(Real{*seconds, 6}) : std::nullopt;
                      }});
  }
  return table_of<PartRow>(fields, part_rows(answer));
}

ordered_json step_json(const StepAnswer& answer) {
  ordered_json json{{"model", answer.model}, {"gpu", answer.served.gpu}, {"gpus", answer.served.clock->split().gpus},
                    {"step", answer.shape.name}, {"seconds", answer.parts.total()},
                    {"clock", clock_label(answer.served)}, {"parts", to_json(parts_table(answer))}};
  for (ordered_json& part : json["parts"]) {
    part["terms"] = ordered_json::array();
    for (const StepTerm& term : answer.terms)
      if (to_string(term.part) == part["part"].get<std::string>())
        part["terms"].push_back(
            {{"of", to_string(term.kind)}, {"seconds", term.seconds()}, {"derivation", term_text(term)}});
  }
  return json;
}

}  // namespace

std::string render_step(const StepAnswer& answer, Format format, const Style& style) {
  if (format == Format::csv) return render_csv(parts_table(answer));
  if (format == Format::json) return json_text(step_json(answer));
  Document document;
  document.blocks.emplace_back(
      Paragraph{fmt::format("{} takes {}: {} on {} {}.", answer.shape.name, human_seconds(answer.parts.total()),
                            answer.model, answer.served.clock->split().gpus, answer.served.gpu)});
  document.blocks.emplace_back(Paragraph{clock_label(answer.served) + "."});
  document.blocks.emplace_back(parts_table(answer));
  document.blocks.emplace_back(Paragraph{
      "A part takes the larger of its FLOPs and its bytes, and its times besides. Every prompt ends in this step:"});
  Facts derivation;
  for (const StepTerm& term : answer.terms)
    derivation.entries.emplace_back(fmt::format("{}, {}", to_string(term.part), to_string(term.kind)),
                                    fmt::format("{} = {}", term_text(term), human_seconds(term.seconds())));
  document.blocks.emplace_back(derivation);
  return render_people(document, format, style);
}

}  // namespace hybridkv
