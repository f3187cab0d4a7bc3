#include "report/replay/times_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ask/clock/kept_limits.h"
#include "ask/clock/service_figures.h"
#include "base/number_text.h"
#include "report/field.h"
#include "report/replay/times_columns.h"
#include "report/replay/times_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// Times of one run of the trace, with or without a cache.
struct TimesRow {
  std::string name;
  const ServedTimes* times;
  const TimedAnswer* timed;

  double span() const { return times->span_seconds(); }
  double gpus() const { return static_cast<double>(timed->gpus()); }
  double output_rate() const { return per_second(*times, times->generated_tokens()); }
  double hours() const { return gpu_hours(*times, gpus()); }
  std::optional<double> price_of(std::int64_t tokens) const {
    return price_of_million(*times, gpus(), timed->price_per_gpu_hour, tokens);
  }
};

std::vector<TimesRow> rows_of(const SimulateAnswer& answer) {
  std::vector<TimesRow> rows;
  for (const ReplayedCache& cache : answer.caches) rows.push_back({cache.name, &*cache.times, &*answer.timed});
  rows.push_back({"without prefix caching", &*answer.caches.front().uncached, &*answer.timed});
  return rows;
}

Column right(const char* title, const char* subtitle = "") { return for_people(title, subtitle, Align::right); }

/// A row for each figure and run: what it is, of which, and how it is spread.
Table latency_table(const std::vector<TimesRow>& runs) {
  struct Row {
    std::string figure;
    std::string run;
    const DurationHistogram* durations;
  };
  struct Figure {
    const char* name;
    ServedDurations durations;
  };
  std::vector<Row> rows;
  for (const auto& [name, durations] : {Figure{"first token", &ServedTimes::first_token},
                                        Figure{"each further token", &ServedTimes::output_token},
                                        Figure{"end to end", &ServedTimes::end_to_end},
                                        Figure{"queueing", &ServedTimes::queueing}})
    for (const TimesRow& run : runs)
      rows.push_back({&run == &runs.front() ? name : "", run.name, &(run.times->*durations)});
  // Where no request has such a time, as of prompts alone, there is nothing to say.
  const auto shown = [](const Row& row, double seconds) {
    return row.durations->count() == 0 ? std::string() : human_seconds(seconds);
  };
  const auto quantile = [=](double share) {
    return [=](const Row& row) { return shown(row, row.durations->quantile(share)); };
  };
  return table_of<Row>({{for_people("", "", Align::left), &Row::figure},
                        {for_people("cache", "", Align::left), &Row::run},
                        {right("mean"), [=](const Row& row) { return shown(row, row.durations->mean()); }},
                        {right("p50"), quantile(0.5)},
                        {right("p90"), quantile(0.9)},
                        {right("p99"), quantile(0.99)}},
                       rows);
}

Table service_table(const std::vector<TimesRow>& rows) {
  const bool limited = rows.front().timed->limits.any(), priced = rows.front().timed->price_per_gpu_hour.has_value();
  return table_of<TimesRow>(
      {{for_people("cache", "", Align::left), &TimesRow::name},
       {right("generated", "tokens/s"), [](const TimesRow& row) { return Real{row.output_rate(), 0}; }},
       {right("", "a GPU"), [](const TimesRow& row) { return Real{row.output_rate() / row.gpus(), 0}; }},
       {right("requests", "within limits"),
        [](const TimesRow& row) { return Percent{100 * good_share(*row.times), 1}; },
        limited},
       {right("", "of them a second"),
        [](const TimesRow& row) { return Real{per_second(*row.times, row.times->good_requests()), 2}; }, limited},
       {right("span"), [](const TimesRow& row) { return human_seconds(row.span()); }},
       {right("GPU", "hours"), [](const TimesRow& row) { return Real{row.hours(), 2}; }},
       {right("price of a million", "generated"),
        [](const TimesRow& row) { return Real{row.price_of(row.times->generated_tokens()).value_or(0), 2}; }, priced}},
      rows);
}

Table parts_table(const std::vector<TimesRow>& rows) {
  struct Row {
    StepPart part;
    std::vector<double> shares;
  };
  std::vector<Row> parts;
  for (const StepPart part : all_step_parts) {
    Row row{part, {}};
    for (const TimesRow& run : rows) {
      const double whole = run.times->spent().total();
      row.shares.push_back(whole > 0 ? 100 * run.times->spent()[part] / whole : 0);
    }
    constexpr double shown = 0.05;
    if (std::any_of(row.shares.begin(), row.shares.end(), [](double share) { return share >= shown; }))
      parts.push_back(std::move(row));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Row& a, const Row& b) { return a.shares[0] > b.shares[0]; });
  std::vector<Field<Row>> fields{
      {for_people("part of a step", "", Align::left), [](const Row& row) { return part_text(row.part); }}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    fields.push_back({for_people(rows[i].name), [i](const Row& row) { return Percent{row.shares[i], 1}; }});
  return table_of(fields, parts);
}

std::string token_times(const ServedTimes& times) {
  std::string text = fmt::format("a first token after {} (p99 {})", human_seconds(times.first_token.mean()),
                                 human_seconds(times.first_token.quantile(0.99)));
  if (times.output_token.count() > 0)
    text += fmt::format(", {} for each further one", human_seconds(times.output_token.mean()));
  return text;
}

/// The answer in a sentence or two.
std::string verdict(const std::vector<TimesRow>& rows) {
  const TimesRow &first = rows.front(), &without = rows.back();
  std::string text = fmt::format("{} on {} {}: {}; without prefix caching {}.", first.name, first.timed->gpus(),
                                 first.timed->served.gpu, token_times(*first.times), token_times(*without.times));
  const double before = without.times->first_token.mean(), after = first.times->first_token.mean();
  if (without.times->overloaded() && !first.times->overloaded())
    text += " Without caching more requests come than are served.";
  else if (constexpr double noticed = 1.05; after > 0 && before > noticed * after)
    text += fmt::format(" Caching makes the first token {:.1f} times as fast.", before / after);
  return text;
}

/// Of the caches; of the run without one the sentence above says it.
Listing overloads(const std::vector<TimesRow>& rows) {
  Listing listing{.items = {}, .warning = true};
  for (const TimesRow& row : rows)
    if (row.times->overloaded() && &row != &rows.back())
      listing.items.push_back(fmt::format(
          "{}: more requests come than are served: queueing grew from {} in the first quarter to {} in the last, so "
          "that means and percentiles say how long the trace is; take fewer by --rate 0.5x, or more GPUs.", row.name,
          human_seconds(row.times->early_queueing()), human_seconds(row.times->late_queueing())));
  return listing;
}

ordered_json durations_json(const DurationHistogram& durations) {
  return {{"mean", durations.mean()},
          {"p50", durations.quantile(0.5)},
          {"p90", durations.quantile(0.9)},
          {"p99", durations.quantile(0.99)},
          {"max", durations.max()}};
}

ordered_json run_json(const TimesRow& row) {
  ordered_json json{{"requests", row.times->requests()},
                    {"first_token_seconds", durations_json(row.times->first_token)},
                    {"output_token_seconds", durations_json(row.times->output_token)},
                    {"end_to_end_seconds", durations_json(row.times->end_to_end)},
                    {"queueing_seconds", durations_json(row.times->queueing)},
                    {"span_seconds", row.span()},
                    {"generated_tokens", row.times->generated_tokens()},
                    {"output_tokens_per_second", row.output_rate()},
                    {"output_tokens_per_second_per_gpu", row.output_rate() / row.gpus()},
                    {"gpu_hours", row.hours()},
                    {"overloaded", row.times->overloaded()}};
  if (row.timed->limits.any()) {
    json["good_requests"] = row.times->good_requests();
    json["good_requests_per_second"] = per_second(*row.times, row.times->good_requests());
  }
  if (const auto price = row.price_of(row.times->generated_tokens())) json["price_per_million_generated"] = *price;
  if (const auto price = row.price_of(row.times->prompt_tokens() - row.times->found_tokens() +
                                      row.times->generated_tokens()))
    json["price_per_million_computed"] = *price;
  for (const StepPart part : all_step_parts)
    json["step_seconds"][std::string(to_string(part))] = row.times->spent()[part];
  return json;
}

}  // namespace

void add_times(Document& document, const SimulateAnswer& answer) {
  const std::vector<TimesRow> rows = rows_of(answer);
  document.blocks.emplace_back(Heading{"Time"});
  document.blocks.emplace_back(Paragraph{verdict(rows)});
  if (Listing warned = overloads(rows); !warned.items.empty()) document.blocks.emplace_back(std::move(warned));
  document.blocks.emplace_back(latency_table(rows));
  document.blocks.emplace_back(service_table(rows));
  document.blocks.emplace_back(Heading{"Where a step spends its time", 3});
  document.blocks.emplace_back(parts_table(rows));
  document.blocks.emplace_back(Paragraph{clock_label(answer.timed->served) + "."});
}

ordered_json times_json(const SimulateAnswer& answer, const ReplayedCache& cache) {
  ordered_json json{{"gpu", answer.timed->served.gpu},
                    {"gpus", answer.timed->gpus()},
                    {"clock", clock_label(answer.timed->served)}};
  json["cached"] = run_json({cache.name, &*cache.times, &*answer.timed});
  json["uncached"] = run_json({cache.name, &*cache.uncached, &*answer.timed});
  return json;
}

Table with_times(Table caches, const SimulateAnswer& answer) {
  if (!answer.timed) return caches;
  std::vector<Column> columns = caches.columns();
  std::vector<std::pair<const TimesColumn*, bool>> added;  // and whether it is of the replay that caches
  for (const bool caching : {true, false})
    for (const TimesColumn& value : times_columns) {
      const std::string name = std::string(caching ? "" : "uncached_") + value.name;
      // Of pools of blocks some are there already: every driver has them.
      const bool is_there = std::any_of(columns.begin(), columns.end(),
                                        [&](const Column& column) { return column.name == name; });
      if (is_there) continue;
      columns.push_back(for_programs(name));
      added.emplace_back(&value, caching);
    }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < answer.caches.size(); ++i) {
    std::vector<Cell> row = caches.rows()[i];
    for (const auto& [value, caching] : added)
      row.emplace_back(Real{value->of(caching ? *answer.caches[i].times : *answer.caches[i].uncached), 6});
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace hybridkv
