#include "report/recommend/recommend_glance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/recommend/search_reporter.h"

namespace hybridkv {

namespace {

/// A candidate of the glance, of which its table has a column.
struct GlanceColumn {
  const char* title;
  std::size_t at;  ///< position in Recommendation::candidates
};

std::vector<GlanceColumn> glance_columns(const Recommendation& result) {
  std::vector<GlanceColumn> columns{{result.default_candidate == result.pick ? "pick, default" : "pick", result.pick}};
  if (result.unpacked_pick && result.unpacked_pick != result.default_candidate)
    columns.push_back({"without packing", *result.unpacked_pick});
  if (result.default_candidate && result.default_candidate != result.pick)
    columns.push_back({"default", *result.default_candidate});
  return columns;
}

std::string glanced_block(const RecommendAnswer& report, const Candidate& candidate) {
  const CachePlan& plan = report.result.layout_of(candidate).plan;
  return human_plural(primary_block_tokens(plan), "token");
}

/// As people read it, with the exact number behind it.
std::string glanced_bytes(std::int64_t bytes) {
  return fmt::format("{} ({} bytes)", human_bytes(bytes), human_count(bytes));
}

std::string glanced_page(const RecommendAnswer& report, const Candidate& candidate) {
  const CachePlan& plan = report.result.layout_of(candidate).plan;
  return glanced_bytes(plan.page_bytes(primary_group(plan)));
}

std::string glanced_evidence(const RecommendAnswer& report, const Candidate& candidate) {
  const std::string word(to_string(evidence_of(report.result, candidate)));
  std::set<std::string> modelled;
  for (const ModelledRule rule : candidate.modelled) modelled.emplace(to_string(rule));
  return modelled.empty() ? word : fmt::format("{}: {}", word, fmt::join(modelled, ", "));
}

Table glance_table(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const std::vector<GlanceColumn> columns = glance_columns(result);
  std::vector<Column> heads{{"figure", "", "", Align::left}};
  for (const GlanceColumn& column : columns) heads.push_back({column.title, column.title, "", Align::left});
  Table table(std::move(heads));
  const auto add = [&](std::string title, auto text) {
    std::vector<Cell> cells{std::move(title)};
    for (const GlanceColumn& column : columns) cells.emplace_back(text(report, result.candidates[column.at]));
    table.add_row(std::move(cells));
  };
  add("settings", reporter_of(result).settings);
  add("prompt tokens that hit", [](const RecommendAnswer& asked, const Candidate& candidate) {
    return fmt::format("{} ({} of {})", human_percent(100 * candidate.hit_rate()), human_count(candidate.hit_tokens),
                       human_count(asked.result.workload.prompt_tokens));
  });
  add(fmt::format("requests of {} tokens at once", human_count(result.at_length)),
      [](const RecommendAnswer&, const Candidate& candidate) { return human_real(candidate.objectives.concurrency); });
  add("one of them takes", [](const RecommendAnswer&, const Candidate& candidate) {
    return glanced_bytes(candidate.objectives.bytes_per_request);
  });
  add("block", glanced_block);
  add("page", glanced_page);
  add("evidence", glanced_evidence);
  return table;
}

}  // namespace

Document recommend_glance(const RecommendAnswer& report) {
  Document document;
  document.blocks.emplace_back(Paragraph{pick_verdict(report)});
  document.blocks.emplace_back(glance_table(report));
  return document;
}

}  // namespace hybridkv
