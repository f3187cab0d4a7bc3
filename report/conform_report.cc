#include "report/conform_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

using FigureRow = std::pair<std::string, FigureCount>;

Table conform_figures(const ConformAnswer& answer) {
  return table_of<FigureRow>({{{"figure", "figure"}, &FigureRow::first},
                              {{"compared", "compared"}, via(&FigureRow::second, &FigureCount::compared)},
                              {{"equal", "equal"}, via(&FigureRow::second, &FigureCount::equal)}},
                             std::vector<FigureRow>(answer.figures.begin(), answer.figures.end()));
}

std::string conform_result(const ConformAnswer& answer) {
  const std::string sides = fmt::format("{} and the installed version {}", answer.rules->title, answer.version);
  std::string counts = fmt::format("{} with every figure equal, {} refused by both", human_count(answer.equal),
                                   human_count(answer.refused));
  std::int64_t not_asked = 0;
  for (const auto& [why, cases] : answer.not_asked) not_asked += cases;
  if (not_asked > 0) counts += fmt::format(", {} not asked", human_count(not_asked));
  if (answer.agrees())
    return fmt::format("RESULT: {} agree in {} cases: {}", sides, human_count(answer.cases), counts);
  return fmt::format("RESULT: {} differ in {} of {} cases: {}", sides, human_count(std::ssize(answer.differences)),
                     human_count(answer.cases), counts);
}

/// Differences of one figure and one rule are one finding, shown by its first case.
struct Finding {
  const ConformDifference* first = nullptr;
  std::int64_t cases = 0;
};

std::vector<Finding> findings_in(const ConformAnswer& answer) {
  std::vector<Finding> findings;
  for (const ConformDifference& one : answer.differences) {
    const auto same = [&](const Finding& finding) {
      return finding.first->first.name == one.first.name && finding.first->rule == one.rule;
    };
    const auto known = std::find_if(findings.begin(), findings.end(), same);
    if (known == findings.end())
      findings.push_back({&one, 1});
    else
      ++known->cases;
  }
  return findings;
}

Facts facts_of_finding(const Finding& finding) {
  const ConformDifference& one = *finding.first;
  Facts facts;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.entries.emplace_back(name, text);
  };
  add("case", one.words);
  add("ours", one.first.ours);
  add("our rule", one.rule);
  add("with numbers", one.values);
  add("as we know it", one.source);
  add("theirs", one.first.theirs);
  add("computed by", one.made_by);
  add("it says", one.said);
  return facts;
}

Document conform_document(const ConformAnswer& answer) {
  Document document;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Paragraph{conform_result(answer)});
  if (answer.version != answer.known_version)
    add(Listing{{fmt::format("the rules are of version {}, and {} is installed", answer.known_version, answer.version)},
                true});
  for (const Finding& finding : findings_in(answer)) {
    add(Heading{fmt::format("Falsified: {}, in {} {}", finding.first->first.figure, human_count(finding.cases),
                            finding.cases == 1 ? "case" : "cases")});
    add(facts_of_finding(finding));
  }
  if (!answer.figures.empty()) {
    add(Heading{"Figures"});
    add(conform_figures(answer));
  }
  if (!answer.not_asked.empty()) {
    Listing listing;
    for (const auto& [why, cases] : answer.not_asked)
      listing.items.push_back(fmt::format("{}: {} {}", why, human_count(cases), cases == 1 ? "case" : "cases"));
    add(Heading{"Not asked"});
    add(std::move(listing));
  }
  if (!answer.stubs.empty()) {
    add(Heading{"What stood for a GPU"});
    add(Listing{answer.stubs});
  }
  return document;
}

nlohmann::ordered_json conform_json(const ConformAnswer& answer) {
  nlohmann::ordered_json json{{"schema", "hybridkv-conform/1"},
                              {"release", answer.rules->name},
                              {"version", answer.version},
                              {"known_version", answer.known_version},
                              {"agrees", answer.agrees()},
                              {"cases", answer.cases},
                              {"equal", answer.equal},
                              {"refused", answer.refused},
                              {"stubs", answer.stubs},
                              {"figures", to_json(conform_figures(answer))}};
  if (!answer.not_asked.empty()) json["not_asked"] = answer.not_asked;
  json["differences"] = nlohmann::ordered_json::array();
  for (const ConformDifference& one : answer.differences)
    json["differences"].push_back({{"case", one.words},
                                   {"figure", one.first.figure},
                                   {"ours", one.first.ours},
                                   {"theirs", one.first.theirs},
                                   {"rule", one.rule},
                                   {"values", one.values},
                                   {"source", one.source},
                                   {"made_by", one.made_by},
                                   {"said", one.said},
                                   {"request", one.request}});
  return json;
}

}  // namespace

std::string render_conform(const ConformAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(conform_json(answer));
  if (format == Format::csv) return render_csv(conform_figures(answer));
  return render_people(conform_document(answer), format, style);
}

}  // namespace hybridkv
