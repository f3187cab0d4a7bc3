#include "report/plot/plot_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ask/clock/served_clock.h"
#include "base/number_text.h"
#include "report/field.h"
#include "report/fleet/fleet_report.h"
#include "report/human.h"
#include "report/plot/svg.h"

namespace hybridkv {

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// A part of a bar.
struct GapPart {
  const char* title;
  const char* column;
  const char* fill;
  double FleetGaps::*share;
};

/// Okabe and Ito's colours, lightened as those of page maps are.
constexpr GapPart gap_parts[] = {{"found", "found_percent", "#7FC9A8", &FleetGaps::found},
                                 {"+ the best router", "routing_percent", "#66AAD1", &FleetGaps::routing},
                                 {"+ one store of all memory", "sharing_percent", "#F6F08E", &FleetGaps::sharing},
                                 {"+ the best layout", "layout_percent", "#E69E66", &FleetGaps::layout},
                                 {"+ any policy, at most", "policy_percent", "url(#policy)", &FleetGaps::policy}};

/// A router before the replicas of a cache.
struct GapBar {
  std::string cache, router;
  FleetGaps gaps;
};

std::vector<GapBar> bars_of(const FleetAnswer& answer) {
  std::vector<GapBar> bars;
  for (const FleetCache& cache : answer.caches)
    for (const RoutedFleet& routed : cache.routers)
      bars.push_back({cache.name, std::string(to_string(routed.router.kind)), gaps_of(answer, cache, routed)});
  return bars;
}

class GapPainter {
 public:
  GapPainter(std::string title, std::string subtitle, std::vector<GapBar> bars)
      : title_(std::move(title)), subtitle_(std::move(subtitle)), bars_(std::move(bars)) {}

  std::string paint(int width) const {
    SvgWriter svg;
    svg.hatch("policy", "#9A9A9A", "#F4F4F4");
    double y = svg.paragraph(margin, 28, canvas - 2 * margin, title_, {.size = 17}) + 20;
    y = svg.paragraph(margin, y, canvas - 2 * margin, subtitle_, {.size = 12, .colour = grey}) + 18;
    std::vector<std::pair<std::string, std::string>> swatches;
    for (const GapPart& part : gap_parts)
      if (is_drawn(part)) swatches.emplace_back(part.fill, part.title);
    y = svg.legend(margin, y, canvas - 2 * margin, swatches) + 18;
    double names = 0;
    for (const GapBar& bar : bars_) names = std::max(names, widest_text(name_of(bar), name_size));
    const double left = margin + names + 12, scale = canvas - margin - totals - left;
    axis(svg, y, left, scale);
    for (const GapBar& bar : bars_) {
      svg.text(left - 10, y + 15, name_of(bar), {.size = name_size, .anchor = TextAnchor::end});
      double at = 0;
      for (const GapPart& part : gap_parts) {
        const double share = bar.gaps.*part.share;
        if (share <= 0) continue;
        svg.rect(left + at * scale, y, share * scale, height, part.fill,
                 {{"class", "part"},
                  {"data-cache", bar.cache},
                  {"data-router", bar.router},
                  {"data-part", part.column},
                  {"data-percent", fmt::format("{:.4f}", 100 * share)},
                  {"stroke", "#444444"},
                  {"stroke-width", "0.5"}},
                 fmt::format("{}, {}: {}", name_of(bar), part.title, human_share(share)));
        at += share;
      }
      svg.text(left + at * scale + 8, y + 15, human_share(bar.gaps.found) + " found", {.size = 11});
      y += row;
    }
    return svg.finish(width, canvas, y + 28, title_, "One bar a router, to scale in shares of the prompt tokens.");
  }

 private:
  static constexpr double canvas = 830, margin = 24, name_size = 12, height = 22, row = 32, totals = 92;
  static constexpr const char* grey = "#666666";

  void axis(SvgWriter& svg, double top, double left, double scale) const {
    const double bottom = top + row * static_cast<double>(bars_.size());
    svg.line(left, bottom, left + scale, bottom, grey);
    for (int percent = 0; percent <= 100; percent += 20) {
      const double x = left + percent / 100.0 * scale;
      svg.line(x, top - 4, x, bottom, "#DDDDDD", 0.6);
      svg.text(x, bottom + 16, fmt::format("{} %", percent),
               {.size = 10.5, .anchor = TextAnchor::middle, .colour = grey});
    }
  }

  bool is_drawn(const GapPart& part) const {
    return std::any_of(bars_.begin(), bars_.end(), [&](const GapBar& bar) { return bar.gaps.*part.share > 0; });
  }
  std::string name_of(const GapBar& bar) const {
    const bool several = bars_.front().cache != bars_.back().cache;
    return several ? bar.cache + ", " + bar.router : bar.router;
  }

  std::string title_, subtitle_;
  std::vector<GapBar> bars_;
};

std::string fleet_subtitle(const FleetCurves& values) {
  std::string text = fmt::format("{}, {}", values.model, human_plural(values.answer.replicas, "replica"));
  if (values.answer.timed)
    text += fmt::format(" on {} {} each", values.answer.timed->gpus(), values.answer.timed->served.gpu);
  return fmt::format("{}, {}", text, values.answer.trace);
}

std::string clock_sentence(const FleetCurves& values) {
  return values.answer.timed ? " " + clock_label(values.answer.timed->served) + "." : "";
}

}  // namespace

Plot plot_routing_gaps(const FleetCurves& values) {
  std::vector<GapBar> bars = bars_of(values.answer);
  std::vector<Field<GapBar>> fields{{{"cache"}, &GapBar::cache}, {{"router"}, &GapBar::router}};
  for (const GapPart& part : gap_parts)
    fields.push_back({{part.column}, [share = part.share](const GapBar& bar) {
                        return Percent{100 * (bar.gaps.*share), 4};
                      }});
  Plot plot{.name = std::string(to_string(FleetPlotKind::gaps)),
            .title = "What routers find, and what there is beyond",
            .subtitle = fleet_subtitle(values),
            .caption = fmt::format("Shares of the prompt tokens. One store: a single replica with the memory of all. "
                                   "Any policy: proven for every router, eviction and transfer within that memory. "
                                   "{}{}", routers_are_modelled, clock_sentence(values))};
  plot.tables.push_back({"", table_of(fields, bars)});
  plot.svg = [painter = GapPainter(plot.title, plot.subtitle, std::move(bars))](int width) {
    return painter.paint(width);
  };
  return plot;
}

std::vector<Plot> plot_routing_courses(const FleetCurves& values) {
  using At = std::size_t;  // position of a stretch
  std::vector<Plot> plots;
  for (std::size_t c = 0; c < values.courses.size(); ++c) {
    const FleetCache& cache = values.answer.caches[c];
    const auto& courses = values.courses[c];
    std::vector<Field<At>> fields{{{"requests"}, [&](At at) {
      return std::min(values.answer.requests, static_cast<std::int64_t>(at + 1) * values.stretch_requests);
    }}};
    const PlotAxis x{.title = "requests of the trace", .unit = "", .least = 0,
                     .most = static_cast<double>(values.answer.requests)};
    PlotPanel found{"Found of the prompt tokens", 0, "requests", x,
                    {.title = "found", .unit = "%", .floor = 0, .ceiling = 100}, {}};
    PlotPanel balance{"Computed by the replica that computed most, over the mean", 0, "requests", x,
                      {.title = "most over mean", .unit = "", .floor = 1}, {}};
    At stretches = 0;
    for (std::size_t r = 0; r < courses.size(); ++r) {
      const std::string router(to_string(cache.routers[r].router.kind));
      const std::vector<FleetStretch>& course = courses[r];
      stretches = std::max(stretches, course.size());
      fields.push_back({{"found_percent " + router}, [&course](At at) {
                          return Percent{at < course.size() ? 100 * course[at].found_rate() : no_value, 4};
                        }});
      fields.push_back({{"most_over_mean " + router}, [&course](At at) {
                          return Real{at < course.size() ? course[at].imbalance() : no_value, 6};
                        }});
      found.series.push_back({router, {"found_percent " + router}, SeriesStyle::line, r});
      balance.series.push_back({router, {"most_over_mean " + router}, SeriesStyle::line, r, false});
    }
    Plot plot{.name = std::string(to_string(FleetPlotKind::course)),
              .title = "Routing over the trace, " + cache.name,
              .subtitle = fleet_subtitle(values),
              .caption = fmt::format("Each point is of {} requests, in the order of the trace. {}{}",
                                     human_count(values.stretch_requests), routers_are_modelled,
                                     clock_sentence(values))};
    if (values.courses.size() > 1) plot.name += fmt::format("-{}", c + 1);
    plot.tables.push_back({"", table_of_positions(fields, stretches)});
    plot.panels = {std::move(found), std::move(balance)};
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace hybridkv
