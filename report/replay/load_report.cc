#include "report/replay/load_report.h"

#include <fmt/format.h>

#include "ask/clock/kept_limits.h"
#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"
#include "report/replay/times_text.h"

namespace hybridkv {

namespace {

Table curve_table(const LoadCurve& curve) {
  using Row = LoadPoint;
  const bool limited = curve.timed.limits.any();
  const auto mean = [](ServedTimes Row::*run, ServedDurations of) {
    return [=](const Row& row) { return human_seconds((row.*run.*of).mean()); };
  };
  const auto seconds = [](ServedTimes Row::*run, ServedDurations of, double share) {
    return [=](const Row& row) {
      const DurationHistogram& all = row.*run.*of;
      return Real{share == 0 ? all.mean() : all.quantile(share), 6};
    };
  };
  const auto right = [](const char* title, const char* below) { return for_people(title, below, Align::right); };
  return table_of<Row>(
      {{right("rate", ""), [](const Row& row) { return fmt::format("{:g}x", row.rate); }},
       {for_programs("rate"), [](const Row& row) { return Real{row.rate, 6}; }},
       {{"offered_requests_per_second", "requests", "a second"}, [](const Row& row) { return Real{row.offered, 2}; }},
       {right("first token", "mean"), mean(&Row::cached, &ServedTimes::first_token)},
       {right("", "p99"),
        [](const Row& row) { return human_seconds(row.cached.first_token.quantile(0.99)); }},
       {right("each further", "token"), mean(&Row::cached, &ServedTimes::output_token)},
       {right("within", "limits"), [](const Row& row) { return Percent{100 * good_share(row.cached), 1}; }, limited},
       {right("without caching", "first token"), mean(&Row::uncached, &ServedTimes::first_token)},
       {right("", "further"), mean(&Row::uncached, &ServedTimes::output_token)},
       {for_people("over-", "loaded", Align::left),
        [](const Row& row) {
          return std::string(row.cached.overloaded() ? "yes" : row.uncached.overloaded() ? "uncached" : "no");
        }},
       {for_programs("first_token_mean_seconds"), seconds(&Row::cached, &ServedTimes::first_token, 0)},
       {for_programs("first_token_p99_seconds"), seconds(&Row::cached, &ServedTimes::first_token, 0.99)},
       {for_programs("output_token_mean_seconds"), seconds(&Row::cached, &ServedTimes::output_token, 0)},
       {for_programs("good_share"), [](const Row& row) { return Real{good_share(row.cached), 6}; }},
       {for_programs("overloaded"), [](const Row& row) { return row.cached.overloaded(); }},
       {for_programs("uncached_first_token_mean_seconds"), seconds(&Row::uncached, &ServedTimes::first_token, 0)},
       {for_programs("uncached_output_token_mean_seconds"), seconds(&Row::uncached, &ServedTimes::output_token, 0)},
       {for_programs("uncached_overloaded"), [](const Row& row) { return row.uncached.overloaded(); }}},
      curve.points);
}

std::string verdict(const LoadCurve& curve) {
  const std::string where = fmt::format("{} on {} {}", curve.name, curve.timed.gpus(), curve.timed.served.gpu);
  if (!curve.timed.limits.any())
    return fmt::format("{}: latency against load; with --ttft and --tpot also the most load within them.", where);
  const std::optional<double> most = curve.most_rate(usual_good_share);
  if (!most)
    return fmt::format("{}: at no rate do {:g} % of the requests get {}; take lower rates, or more GPUs.", where,
                       100 * usual_good_share, limits_text(curve.timed.limits));
  const LoadPoint* point = &curve.points.front();
  for (const LoadPoint& one : curve.points)
    if (one.rate == *most) point = &one;
  return fmt::format("{}: {:g} % of the requests get {} up to {:g} times the rate of the trace, {} requests a second"
                     "{}.", where, 100 * usual_good_share, limits_text(curve.timed.limits), *most,
                     human_real(point->offered), point == &curve.points.back() ? ", the highest tried" : "");
}

}  // namespace

std::string render_load(const LoadCurve& curve, Format format, const Style& style) {
  const Table table = curve_table(curve);
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) {
    nlohmann::ordered_json json{{"trace", curve.trace},
                                {"cache", curve.name},
                                {"gpu", curve.timed.served.gpu},
                                {"gpus", curve.timed.gpus()},
                                {"clock", clock_label(curve.timed.served)},
                                {"points", to_json(table)}};
    if (const auto most = curve.most_rate(usual_good_share)) json["most_rate_within_limits"] = *most;
    return json_text(json);
  }
  Document document;
  document.blocks.emplace_back(Heading{"Load of " + curve.trace, 1});
  document.blocks.emplace_back(Paragraph{verdict(curve)});
  document.blocks.emplace_back(table);
  document.blocks.emplace_back(Paragraph{clock_label(curve.timed.served) + "."});
  return render_people(document, format, style);
}

}  // namespace hybridkv
