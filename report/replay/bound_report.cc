#include "report/replay/bound_report.h"

#include <fmt/format.h>

#include "report/document.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

/// The name, with how its arrangement is known where no engine's run confirms it.
std::string layout_name(const BoundAnswer& answer) {
  if (answer.layout.evidence == Evidence::run || !answer.refused.empty()) return answer.name;
  return fmt::format("{} ({})", answer.name, to_string(answer.layout.evidence));
}

std::string share_text(const BoundAnswer& answer, std::int64_t tokens) {
  return fmt::format("{} %", human_real(100 * answer.layout.rate(tokens), 1));
}

/// "5.1 % found, at least 31.3 % possible, at most 31.8 %".
std::string verdict_text(const BoundAnswer& answer) {
  return fmt::format("{}: {} found, at least {} possible in this memory, at most {}", layout_name(answer),
                     share_text(answer, answer.found_tokens), share_text(answer, answer.layout.feasible_tokens),
                     share_text(answer, answer.layout.upper_tokens));
}

Document bound_document(const std::vector<BoundAnswer>& answers, const std::string& trace) {
  Document document;
  document.blocks.emplace_back(Heading{"How far from the best possible: " + trace, 1});
  document.blocks.emplace_back(bound_table(answers));
  Listing verdicts, refusals{{}, true};
  for (const BoundAnswer& answer : answers)
    if (answer.refused.empty())
      verdicts.items.push_back(verdict_text(answer));
    else
      refusals.items.push_back(fmt::format("{} has no bound: {}", answer.name, answer.refused));
  document.blocks.emplace_back(std::move(verdicts));
  if (!refusals.items.empty()) document.blocks.emplace_back(std::move(refusals));
  document.blocks.emplace_back(Paragraph{
      "Shares of the prompt tokens, one request at a time. Found: the engine's own rules, replayed. Possible: a "
      "schedule that knows the whole trace, keeps to the memory and leaves running requests their own; no engine's "
      "eviction reaches it for certain. At most: proven for every policy by prices of the memory over time (weak "
      "duality of the problem of what to keep), whatever the engine evicts, retains or prefetches within this memory. "
      "Endless: everything kept. Token by token: any prefix found as well."});
  return document;
}

}  // namespace

Table bound_table(const std::vector<BoundAnswer>& answers) {
  constexpr Audience programs = Audience::programs;
  Table table({{"name", "layout", "", Align::left},
               {"evidence", "rules", "", Align::left, programs},
               {"refused", "refused", "", Align::left, programs},
               {"unit_tokens", "unit", "tokens"},
               {"unit_bytes", "unit", "bytes", Align::right, programs},
               {"state_bytes", "states", "bytes", Align::right, programs},
               {"memory_bytes", "memory", "bytes", Align::right, programs},
               {"requests", "requests", "", Align::right, programs},
               {"prompt_tokens", "prompts", "tokens", Align::right, programs},
               {"found_tokens", "found", "tokens", Align::right, programs},
               {"found_rate", "found"},
               {"feasible_tokens", "possible", "tokens", Align::right, programs},
               {"feasible_rate", "possible", "at least"},
               {"scheduled_tokens", "scheduled", "tokens", Align::right, programs},
               {"feasible_is_replayed", "replayed", "", Align::left, programs},
               {"upper_tokens", "at most", "tokens", Align::right, programs},
               {"upper_rate", "no policy", "more than"},
               {"endless_tokens", "endless", "tokens", Align::right, programs},
               {"endless_rate", "endless", "memory"},
               {"token_exact_tokens", "token by token", "tokens", Align::right, programs},
               {"token_exact_rate", "token", "by token"},
               {"evaluations", "evaluations", "", Align::right, programs}});
  for (const BoundAnswer& answer : answers) {
    if (!answer.refused.empty()) {
      std::vector<Cell> cells(table.columns().size());
      cells[0] = answer.name;
      cells[2] = answer.refused;
      table.add_row(std::move(cells));
      continue;
    }
    // Programs get shares from 0 to 1.
    const auto rate = [&](std::int64_t tokens) { return Cell(Real{answer.layout.rate(tokens), 4}); };
    const LayoutBound& layout = answer.layout;
    table.add_row({layout_name(answer), std::string(to_string(layout.evidence)), std::monostate(), layout.unit_tokens,
                   layout.unit_bytes, layout.state_bytes, layout.memory_bytes, layout.requests, layout.prompt_tokens,
                   answer.found_tokens, rate(answer.found_tokens), layout.feasible_tokens,
                   rate(layout.feasible_tokens), layout.scheduled_tokens, layout.is_replayed, layout.upper_tokens,
                   rate(layout.upper_tokens), layout.endless_tokens, rate(layout.endless_tokens),
                   answer.token_exact_tokens, rate(answer.token_exact_tokens), layout.evaluations});
  }
  return table;
}

std::string render_bound(const std::vector<BoundAnswer>& answers, const std::string& trace, Format format,
                         const Style& style) {
  switch (format) {
    case Format::json: {
      nlohmann::ordered_json json{{"schema", bound_schema_id}, {"trace", trace}};
      json["layouts"] = to_json(bound_table(answers));
      return json_text(json);
    }
    case Format::csv: return render_csv(bound_table(answers));
    case Format::markdown: return render_markdown(bound_document(answers, trace));
    case Format::table: break;
  }
  return render_text(bound_document(answers, trace), style);
}

}  // namespace hybridkv
