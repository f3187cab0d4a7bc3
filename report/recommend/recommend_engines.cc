#include "report/recommend/recommend_engines.h"

#include <fmt/format.h>

#include <vector>

#include "report/human.h"
#include "report/plan/kernel_text.h"
#include "report/recommend/recommend_text.h"
#include "report/recommend/search_reporter.h"

namespace hybridkv {

namespace {

using Engines = std::span<const EngineRecommendation>;

const Candidate& picked(const EngineRecommendation& engine) { return engine.answer->picked(); }

std::string found_text(const EngineRecommendation& engine) {
  return fmt::format("{} of the prompt tokens hit, {} computed again", human_percent(100 * picked(engine).hit_rate()),
                     human_count(picked(engine).objectives.reprefilled_tokens));
}

std::string settings_text(const EngineRecommendation& engine) {
  return reporter_of(engine.answer->result).settings(*engine.answer, picked(engine));
}

/// What kernels have against the pick of an engine, against that of the one to take too; begins with a blank.
std::string kernels_text(Engines engines, std::size_t taken) {
  std::string text;
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (harms_kernel(engines[i]))
      text += fmt::format(" {} {}: {}.", engines[i].release,
                          harms_kernel(engines[taken]) ? "suits not all kernels" : "is passed over",
                          kernel_headline(*worst_fit(engines[i].answer->pick_kernels())));
  return text;
}

std::string verdict(Engines engines, std::size_t taken) {
  const EngineRecommendation& engine = engines[taken];
  const RecommendAnswer& answer = *engine.answer;
  std::string text = fmt::format(
      "Take {} with {}: {}, and {} requests of {} tokens run at once.", engine.release, settings_text(engine),
      found_text(engine),
      human_real(answer.picked().objectives.concurrency), human_count(answer.result.at_length));
  if (const std::optional<std::size_t> next = next_engine(engines, taken))
    text += fmt::format(" Next is {}: {}, {} at once.", engines[*next].release, found_text(engines[*next]),
                        human_real(picked(engines[*next]).objectives.concurrency));
  if (!is_for_use(engine))
    text += " None of these engines is of today's releases, has a command that is known, and was run: this is the best "
            "of the others.";
  return text + kernels_text(engines, taken);
}

std::vector<Field<EngineRecommendation>> fields(bool judged) {
  using Row = EngineRecommendation;
  std::vector<Field<Row>> all{
      {{"engine", "engine", "", Align::left}, [](const Row& row) { return Cell(row.release); }},
      {{"hit_rate", "hit", "rate"}, [](const Row& row) { return Cell(Percent{100 * picked(row).hit_rate()}); }},
      {{"reprefilled_tokens", "computed", "again"},
       [](const Row& row) { return Cell(picked(row).objectives.reprefilled_tokens); }},
      {{"bytes_per_request", "request"},
       [](const Row& row) { return Cell(ByteCount{picked(row).objectives.bytes_per_request}); }},
      {{"concurrency", "at once"}, [](const Row& row) { return Cell(Real{picked(row).objectives.concurrency}); }},
      {{"evidence", "known", "from", Align::left}, [](const Row& row) {
         return Cell(std::string(to_string(row.answer->pick_evidence)));
       }}};
  if (judged)
    all.push_back({{"kernels", "kernels", "", Align::left},
                   [](const Row& row) { return worst_verdict_cell(row.answer->pick_kernels()); }});
  return all;
}

}  // namespace

Document recommend_engines(Engines engines) {
  Document document;
  std::vector<EngineRecommendation> rows;
  std::vector<std::string> refused;
  for (const EngineRecommendation& engine : engines)
    if (engine.answer) rows.push_back(engine);
    else refused.push_back(fmt::format("{}: refused: {}", engine.release, engine.refused));
  const std::optional<std::size_t> taken = engine_to_take(rows);
  if (taken) {
    const RecommendAnswer& answer = *rows[*taken].answer;
    document.blocks.emplace_back(Heading{fmt::format("Engines for {}, tensor parallel {}", answer.model,
                                                     answer.engine.tensor_parallel), 1});
    document.blocks.emplace_back(Paragraph{verdict(rows, *taken)});
    Table table = table_of(fields(!answer.pick_kernels().empty()), rows);
    table.mark_row(*taken);
    document.blocks.emplace_back(std::move(table));
    document.blocks.emplace_back(Paragraph{fmt::format(
        "Workload: {}, in {}. Each engine has the settings that a search picked for it, below. The one to take is a "
        "release of today whose results are known from runs; it computes fewest tokens again, and of those within "
        "0.5 % of all prompt tokens of that it has most requests at once. --engine in place of --engines gives the "
        "reasons of one.",
        answer.workload, human_bytes(answer.engine.memory_bytes))});
    Facts settings;
    for (const EngineRecommendation& engine : rows)
      settings.entries.emplace_back(engine.release, settings_text(engine));
    document.blocks.emplace_back(std::move(settings));
    const ServeCommand& serve = answer.pick.serve;
    if (!serve.command.empty()) {
      document.blocks.emplace_back(Heading{"Start it"});
      document.blocks.emplace_back(Code{{serve.command}});
    }
    if (!serve.beside.empty()) document.blocks.emplace_back(Listing{serve.beside});
  }
  if (!refused.empty()) document.blocks.emplace_back(Listing{refused, true});
  return document;
}

}  // namespace hybridkv
