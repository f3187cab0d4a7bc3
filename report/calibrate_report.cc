#include "report/calibrate_report.h"

#include <fmt/format.h>

#include <algorithm>

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

Table steps_table(const CalibrateAnswer& answer) {
  using Row = CalibratedStep;
  const auto off = [](double Row::*predicted) {
    return [=](const Row& row) { return signed_percent(percent_off(row.*predicted, row.measured.seconds)); };
  };
  return table_of<Row>(
      {{{"step", "step", "", Align::left}, [](const Row& row) { return row.measured.shape.name; }},
       {for_people("measured", "", Align::right), [](const Row& row) { return human_seconds(row.measured.seconds); }},
       {for_people("before", "", Align::right), off(&Row::before)},
       {for_people("now", "", Align::right), off(&Row::after)},
       {for_people("spread", "of runs", Align::right),
        [](const Row& row) {
          return row.measured.spread_percent > 0 ? fmt::format("{:.1f} %", row.measured.spread_percent) : "";
        }},
       {for_programs("measured_seconds"), [](const Row& row) { return Real{row.measured.seconds, 6}; }},
       {for_programs("before_seconds"), [](const Row& row) { return Real{row.before, 6}; }},
       {for_programs("now_seconds"), [](const Row& row) { return Real{row.after, 6}; }},
       {for_programs("spread_percent"), [](const Row& row) { return Real{row.measured.spread_percent, 6}; }}},
      answer.steps);
}

/// Runs of one step that differ by more are no measurement.
std::int64_t num_restless(const CalibrateAnswer& answer) {
  constexpr double most_percent = 0.5;
  return std::count_if(answer.steps.begin(), answer.steps.end(),
                       [](const CalibratedStep& step) { return step.measured.spread_percent > most_percent; });
}

/// What steps are called that were measured so.
std::string_view name_of(const std::vector<CalibratedStep>& steps) {
  const std::int64_t served = std::count_if(steps.begin(), steps.end(), [](const CalibratedStep& step) {
    return step.served;
  });
  return served == 0 ? "Forward passes" : served == std::ssize(steps) ? "Steps of the log" : "Steps";
}

void add_steps(Document& document, const CalibrateAnswer& answer) {
  std::string text = fmt::format("{}: {:.1f} % off (median; p90 {:.1f} %), before {:.1f} %.", name_of(answer.steps),
                                 answer.step_after.median, answer.step_after.p90, answer.step_before.median);
  if (answer.step_apart)
    text += fmt::format(" Steps that a calibration by the other half had not seen: {:.1f} % (p90 {:.1f} %).",
                        answer.step_apart->median, answer.step_apart->p90);
  if (const std::int64_t restless = num_restless(answer); restless > 0)
    text += fmt::format(" Runs of {} differ by more than 0.5 %: let nothing else use the GPU, and measure again.",
                        human_plural(restless, "step"));
  document.blocks.emplace_back(Paragraph{text});
  document.blocks.emplace_back(steps_table(answer));
}

/// Figures of an error, in percent; nothing of no runs. `prefix` begins their names, below `runs` how many those are.
void add_error(std::vector<Field<ClockScore>>& fields, ClockError ClockScore::*score, const std::string& prefix,
               const Column& runs) {
  const auto add = [&](const char* name, const char* title, const char* subtitle, double ClockError::*figure) {
    fields.push_back({{prefix + name, title, subtitle}, [=](const ClockScore& row) {
                        return (row.*score).runs > 0 ? std::optional(Percent{row.*score.*figure, 1}) : std::nullopt;
                      }});
  };
  fields.push_back({runs, [=](const ClockScore& row) { return static_cast<std::int64_t>((row.*score).runs); }});
  add("first_token_median", "first token", "median", &ClockError::first_token_median);
  add("first_token_p90", "", "p90", &ClockError::first_token_p90);
  add("output_token_median", "a token", "median", &ClockError::output_token_median);
  add("output_token_p90", "", "p90", &ClockError::output_token_p90);
}

/// Errors by clocks alone.
std::vector<Field<ClockScore>> blind_fields(const Column& name) {
  std::vector<Field<ClockScore>> fields{{name, &ClockScore::name}};
  add_error(fields, &ClockScore::blind, "", {"runs", "runs"});
  return fields;
}

/// The same, and with two runs of each deployment.
Table score_table(const std::vector<ClockScore>& scores) {
  std::vector<Field<ClockScore>> fields = blind_fields({"engine", "engine"});
  add_error(fields, &ClockScore::own, "own_", {"own_runs", "with two own", "runs"});
  return table_of<ClockScore>(fields, scores);
}

/// Scores between what they are and, where there is any, what is said behind them.
std::string render_scores(const char* before, const Table& table, const std::string& behind, Format format,
                          const Style& style) {
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) return json_text(ordered_json{{"scores", to_json(table)}});
  Document document;
  document.blocks.emplace_back(Paragraph{before});
  document.blocks.emplace_back(table);
  if (!behind.empty()) document.blocks.emplace_back(Paragraph{behind});
  return render_people(document, format, style);
}

}  // namespace

std::string render_calibrate(const CalibrateAnswer& answer, Format format, const Style& style) {
  if (format == Format::csv)
    return render_csv(answer.runs.empty() && !answer.steps.empty() ? steps_table(answer) : runs_table(answer));
  if (format == Format::json) {
    ordered_json json = ordered_json::parse(clock_text(answer.served.source));
    json["runs"] = to_json(runs_table(answer));
    if (!answer.steps.empty()) json["steps"] = to_json(steps_table(answer));
    if (!answer.commands.empty()) json["commands"] = answer.commands;
    return json_text(json);
  }
  Document document;
  if (answer.runs.empty() && answer.steps.empty()) {
    document.blocks.emplace_back(Paragraph{clock_label(answer.served) + "."});
    document.blocks.emplace_back(Paragraph{
        "Two load tests of the running server, minutes each, move it to this deployment; published runs with two of "
        "their own were then predicted to 10 % of a first token and 5 % of a time per output token (median):"});
    document.blocks.emplace_back(Code{answer.commands});
    document.blocks.emplace_back(Paragraph{"Then the same command with --bench short.json --bench long.json -o FILE, "
                                           "and --clock FILE wherever there is a --gpu."});
    return render_people(document, format, style);
  }
  if (answer.runs.empty()) {
    document.blocks.emplace_back(Paragraph{answer.served.source.basis + "."});
  } else {
    document.blocks.emplace_back(Paragraph{fmt::format(
        "{}. Its error on load tests: {:.1f} % of a first token, {:.1f} % of a time per output token (median); before: "
        "{:.1f} and {:.1f} %.", answer.served.source.basis, answer.served.source.fitted.first_token_median,
        answer.served.source.fitted.output_token_median, answer.before.first_token_median,
        answer.before.output_token_median)});
    document.blocks.emplace_back(runs_table(answer));
  }
  if (!answer.steps.empty()) add_steps(document, answer);
  return render_people(document, format, style);
}

std::string render_clock_score(const std::vector<ClockScore>& scores, Format format, const Style& style) {
  const char* const apart = scores.back().name == "all" ? "" :
      "No clock is fitted to runs with drafts, whose acceptance nobody wrote down (--acceptance says what it is taken "
      "for), to attention data parallel, nor to replicas that generate behind others; none counts among all.";
  return render_scores("Errors of predicted mean times, in percent of the measured ones: by the clock of the engine "
                       "alone, and with two runs of each deployment, on its others.",
                       score_table(scores), apart, format, style);
}

std::string render_unseen_score(const std::vector<ClockScore>& scores, Format format, const Style& style) {
  return render_scores("Errors of predicted mean times, in percent of the measured ones, on runs that a fit has not "
                       "seen: the clock of each engine is fitted to its others, with one model left out in turn, and "
                       "with one GPU.",
                       table_of<ClockScore>(blind_fields({"left_out", "left out"}), scores), "", format, style);
}

}  // namespace hybridkv
