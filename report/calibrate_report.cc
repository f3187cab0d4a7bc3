#include "report/calibrate_report.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

double percent_off(double predicted, double measured) { return 100 * (predicted / measured - 1); }

std::string signed_percent(double percent) { return fmt::format("{:+.1f} %", percent); }

Table runs_table(const CalibrateAnswer& answer) {
  using Row = CalibratedRun;
  return table_of<Row>(
      {{for_people("load test", "", Align::left),
        [](const Row& run) { return run.file.substr(run.file.find_last_of('/') + 1); }},
       {for_programs("file"), &Row::file},
       {{"input_tokens", "prompt", "tokens"}, [](const Row& run) { return run.test.input_tokens; }},
       {{"concurrency", "at", "once"}, [](const Row& run) { return run.test.concurrency; }},
       {for_people("first token", "measured", Align::right),
        [](const Row& run) { return human_seconds(run.first_token); }},
       {for_people("", "before", Align::right),
        [](const Row& run) { return signed_percent(percent_off(run.before.first_token, run.first_token)); }},
       {for_people("", "now", Align::right),
        [](const Row& run) { return signed_percent(percent_off(run.after.first_token, run.first_token)); }},
       {for_people("a token", "measured", Align::right),
        [](const Row& run) { return human_seconds(run.output_token); }},
       {for_people("", "before", Align::right),
        [](const Row& run) {
          return run.output_token > 0 ? signed_percent(percent_off(run.before.output_token, run.output_token)) : "";
        }},
       {for_people("", "now", Align::right),
        [](const Row& run) {
          return run.output_token > 0 ? signed_percent(percent_off(run.after.output_token, run.output_token)) : "";
        }},
       {for_programs("first_token_seconds"), [](const Row& run) { return Real{run.first_token, 6}; }},
       {for_programs("first_token_before_seconds"), [](const Row& run) { return Real{run.before.first_token, 6}; }},
       {for_programs("first_token_now_seconds"), [](const Row& run) { return Real{run.after.first_token, 6}; }},
       {for_programs("output_token_seconds"), [](const Row& run) { return Real{run.output_token, 6}; }},
       {for_programs("output_token_before_seconds"), [](const Row& run) { return Real{run.before.output_token, 6}; }},
       {for_programs("output_token_now_seconds"), [](const Row& run) { return Real{run.after.output_token, 6}; }}},
      answer.runs);
}

Table score_table(const std::vector<ClockScore>& scores) {
  using Row = ClockScore;
  const auto of = [](ClockError ClockScore::*score, double ClockError::*figure) {
    return [=](const Row& row) { return Percent{row.*score.*figure, 1}; };
  };
  return table_of<Row>(
      {{{"engine", "engine"}, &Row::name},
       {{"runs", "runs"}, [](const Row& row) { return static_cast<std::int64_t>(row.blind.runs); }},
       {{"first_token_median", "first token", "median"}, of(&Row::blind, &ClockError::first_token_median)},
       {{"first_token_p90", "", "p90"}, of(&Row::blind, &ClockError::first_token_p90)},
       {{"output_token_median", "a token", "median"}, of(&Row::blind, &ClockError::output_token_median)},
       {{"output_token_p90", "", "p90"}, of(&Row::blind, &ClockError::output_token_p90)},
       {{"own_runs", "with two own", "runs"}, [](const Row& row) { return static_cast<std::int64_t>(row.own.runs); }},
       {{"own_first_token_median", "first token", "median"}, of(&Row::own, &ClockError::first_token_median)},
       {{"own_first_token_p90", "", "p90"}, of(&Row::own, &ClockError::first_token_p90)},
       {{"own_output_token_median", "a token", "median"}, of(&Row::own, &ClockError::output_token_median)},
       {{"own_output_token_p90", "", "p90"}, of(&Row::own, &ClockError::output_token_p90)}},
      scores);
}

}  // namespace

std::string render_calibrate(const CalibrateAnswer& answer, Format format, const Style& style) {
  if (format == Format::csv) return render_csv(runs_table(answer));
  if (format == Format::json) {
    ordered_json json = ordered_json::parse(clock_text(answer.served.source));
    json["runs"] = to_json(runs_table(answer));
    if (!answer.commands.empty()) json["commands"] = answer.commands;
    return json_text(json);
  }
  Document document;
  if (answer.runs.empty()) {
    document.blocks.emplace_back(Paragraph{clock_label(answer.served) + "."});
    document.blocks.emplace_back(Paragraph{
        "Two load tests of the running server, minutes each, move it to this deployment; published runs with two of "
        "their own were then predicted to 13 % of a first token and 6 % of a time per output token (median):"});
    document.blocks.emplace_back(Code{answer.commands});
    document.blocks.emplace_back(Paragraph{"Then the same command with --bench short.json --bench long.json -o FILE, "
                                           "and --clock FILE wherever there is a --gpu."});
    return render_people(document, format, style);
  }
  document.blocks.emplace_back(Paragraph{fmt::format(
      "{}. Its error on them: {:.1f} % of a first token, {:.1f} % of a time per output token (median); before: {:.1f} "
      "and {:.1f} %.", answer.served.source.basis, answer.served.source.fitted.first_token_median,
      answer.served.source.fitted.output_token_median, answer.before.first_token_median,
      answer.before.output_token_median)});
  document.blocks.emplace_back(runs_table(answer));
  return render_people(document, format, style);
}

std::string render_clock_score(const std::vector<ClockScore>& scores, Format format, const Style& style) {
  const Table table = score_table(scores);
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) return json_text(ordered_json{{"scores", to_json(table)}});
  Document document;
  document.blocks.emplace_back(Paragraph{
      "Errors of predicted mean times, in percent of the measured ones: by the clock of the engine alone, and with two "
      "runs of each deployment, on its others."});
  document.blocks.emplace_back(table);
  return render_people(document, format, style);
}

}  // namespace hybridkv
