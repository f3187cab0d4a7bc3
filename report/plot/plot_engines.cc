#include "report/plot/plot_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/field.h"
#include "report/human.h"
#include "report/plot/plot_axis.h"
#include "report/plot/svg.h"

namespace hybridkv {

namespace {

constexpr double bytes_a_mib = 1024.0 * 1024.0;
constexpr double bytes_a_gib = 1024.0 * bytes_a_mib;

/// What a request's bytes are for, in the order in which they are stacked.
struct RequestPart {
  const char* title;
  const char* column;
  const char* fill;
  std::int64_t (*bytes)(const EngineRequest&);
};

/// Of no part above: ids whose bytes the plan books elsewhere.
std::int64_t other_bytes(const EngineRequest& engine) {
  return engine.bytes - engine.parts.used_bytes() - engine.parts.wasted_bytes();
}

/// Okabe and Ito's colours, lightened as those of page maps are.
constexpr std::array<RequestPart, 5> request_parts{{
    {"K and V of its tokens", "token_bytes", "#66AAD1", [](const EngineRequest& e) { return e.parts.token_bytes; }},
    {"its running state", "state_bytes", "#E69E66", [](const EngineRequest& e) { return e.parts.state_bytes; }},
    {"further states", "extra_state_bytes", "#F6F08E",
     [](const EngineRequest& e) { return e.parts.extra_state_bytes; }},
    {"wasted: padding, tails, empty slots", "wasted_bytes", "url(#wasted)",
     [](const EngineRequest& e) { return e.parts.wasted_bytes(); }},
    {"other", "other_bytes", "#D0D0D0", other_bytes},
}};

std::string engine_title(const std::string& name, Evidence evidence) {
  return evidence == Evidence::run ? name : fmt::format("{} ({})", name, to_string(evidence));
}

class RequestPainter {
 public:
  explicit RequestPainter(const EngineRequests& values) : values_(values) {}

  std::string paint(int width) {
    svg_.hatch("wasted", "#9A9A9A", "#F4F4F4");
    y_ = svg_.paragraph(margin, 28, canvas - 2 * margin, title(), {.size = 17}) + 20;
    svg_.text(margin, y_, "Bars are to scale; the dashed line is a request without paging and with one state.",
              {.size = 12, .colour = grey});
    legend();
    for (const EngineRequest& engine : values_.engines) most_ = std::max(most_, engine.bytes);
    names_ = text_width("ideal", name_size);
    for (const EngineRequest& engine : values_.engines)
      names_ = std::max(names_, text_width(engine_title(engine.name, engine.evidence), name_size));
    const double top = y_;
    for (const EngineRequest& engine : values_.engines) draw(engine);
    axis(top);
    return svg_.finish(width, canvas, y_, title(), "One bar an engine, its parts to scale in bytes.");
  }

 private:
  static constexpr double canvas = 830, margin = 24, name_size = 12, bar = 22, row = 34, totals = 92;
  static constexpr const char* grey = "#666666";

  std::string title() const {
    return fmt::format("One request of {} tokens in every layout, {}", human_count(values_.tokens), values_.model);
  }

  void legend() {
    std::vector<std::pair<std::string, std::string>> swatches;
    for (const RequestPart& part : request_parts) {
      const bool drawn = std::any_of(values_.engines.begin(), values_.engines.end(),
                                     [&](const EngineRequest& engine) { return part.bytes(engine) > 0; });
      if (drawn) swatches.emplace_back(part.fill, part.title);
    }
    y_ = svg_.legend(margin, y_ + 18, canvas - 2 * margin, swatches) + 18;
  }

  double left() const { return margin + names_ + 12; }
  double x_of(std::int64_t bytes) const {
    return left() + static_cast<double>(bytes) / static_cast<double>(most_) * (canvas - margin - totals - left());
  }

  void draw(const EngineRequest& engine) {
    svg_.text(left() - 10, y_ + 15, engine_title(engine.name, engine.evidence),
              {.size = name_size, .anchor = TextAnchor::end});
    if (engine.bytes == 0) {
      svg_.text(left(), y_ + 15, engine.refused.empty() ? "nothing" : "refused; `hybridkv plan` says why",
                {.size = 11, .colour = grey});
    }
    std::int64_t at = 0;
    for (const RequestPart& part : request_parts) {
      const std::int64_t bytes = part.bytes(engine);
      if (engine.bytes == 0 || bytes <= 0) continue;
      svg_.rect(x_of(at), y_, x_of(at + bytes) - x_of(at), bar, part.fill,
                {{"class", "part"},
                 {"data-engine", engine.name},
                 {"data-part", part.column},
                 {"data-bytes", std::to_string(bytes)},
                 {"stroke", "#444444"},
                 {"stroke-width", "0.5"}},
                fmt::format("{}, {}: {} bytes", engine.name, part.title, human_count(bytes)));
      at += bytes;
    }
    if (engine.bytes > 0) svg_.text(x_of(at) + 8, y_ + 15, human_bytes(engine.bytes), {.size = 11});
    y_ += row;
  }

  void axis(double top) {
    if (most_ == 0) return;
    y_ += 2;
    svg_.line(left(), y_, x_of(most_), y_, grey);
    const double most = static_cast<double>(most_) / bytes_a_mib;
    const std::array<double, 2> ends{0, most};
    for (const AxisTick& tick : axis_scale({.title = "", .least = 0, .most = most}, ends, 6).ticks) {
      const double x = x_of(static_cast<std::int64_t>(tick.at * bytes_a_mib));
      svg_.line(x, y_, x, y_ + 4, grey);
      svg_.text(x, y_ + 17, tick.label + " MiB", {.size = 10.5, .anchor = TextAnchor::middle, .colour = grey});
    }
    const double ideal = x_of(values_.ideal_bytes);
    svg_.line(ideal, top - 6, ideal, y_, "#000000", 1.2, "5,3");
    y_ += 36;
    svg_.text(ideal, y_ - 4, "ideal: " + human_bytes(values_.ideal_bytes), {.size = 11, .anchor = TextAnchor::middle});
    y_ += 14;
  }

  const EngineRequests& values_;
  SvgWriter svg_;
  std::int64_t most_ = 0;
  double names_ = 0;
  double y_ = 0;
};

}  // namespace

Plot plot_engine_requests(const EngineRequests& values) {
  using Row = EngineRequest;
  const auto planned = [](auto getter) { return where([](const Row& row) { return row.refused.empty(); }, getter); };
  std::vector<Field<Row>> fields{{{"engine"}, &Row::name}, {{"evidence"}, &Row::evidence}};
  for (const RequestPart& part : request_parts) fields.push_back({{part.column}, planned(part.bytes)});
  fields.push_back({{"bytes_per_request"}, planned(&Row::bytes)});
  fields.push_back({{"ideal_bytes_per_request"}, planned([&](const Row&) { return values.ideal_bytes; })});
  Plot plot{.name = std::string(to_string(EnginePlotKind::request)),
            .title = "One request in every layout",
            .subtitle = fmt::format("{}, {} tokens", values.model, human_count(values.tokens)),
            .caption = "All ids that a request takes, in every arena. Engines marked read follow rules that were read, "
                       "not run."};
  plot.tables.push_back({"", table_of(fields, values.engines)});
  plot.svg = [values](int width) { return RequestPainter(values).paint(width); };
  return plot;
}

Plot plot_engine_rates(const EngineRates& values) {
  using At = std::size_t;  // position of a memory
  const auto percent = [](const std::optional<double>& share) {
    return Percent{share ? 100 * *share : std::numeric_limits<double>::quiet_NaN()};
  };
  std::vector<Field<At>> fields{{{"memory_bytes"}, [&](At at) { return values.memory_bytes[at]; }}};
  for (std::size_t i = 0; i < values.names.size(); ++i)
    fields.push_back({{"hit_percent " + values.names[i]}, [&, i](At at) { return percent(values.found[i][at]); }});
  fields.push_back({{"upper_percent"}, [&](At at) { return percent(values.upper[at]); }});
  fields.push_back({{"token_exact_percent"}, [&](At) { return percent(values.token_exact); }});
  Plot plot{.name = std::string(to_string(EnginePlotKind::hit_rate)),
            .title = "Prompt tokens found again over memory",
            .subtitle = values.model,
            .caption = fmt::format("{}. Above: what no policy passes in this memory, whatever of these layouts "
                                   "(`hybridkv bound`), and a cache that keeps everything and finds any prefix. "
                                   "Engines marked read follow rules that were read, not run.",
                                   values.trace)};
  plot.tables.push_back({"", table_of_positions(fields, values.memory_bytes.size())});
  PlotAxis memory{.title = "memory of the pools", .unit = "GiB", .divisor = bytes_a_gib};
  memory.logarithmic = true;
  for (const std::int64_t bytes : values.memory_bytes) memory.ticks.push_back(static_cast<double>(bytes) / bytes_a_gib);
  memory.least = memory.ticks.front() * 0.9;
  memory.most = memory.ticks.back() * 1.1;
  PlotPanel panel{"", 0, "memory_bytes", memory,
                  {.title = "hit rate", .unit = "% of prompt tokens", .floor = 0, .ceiling = 100}, {}};
  for (std::size_t i = 0; i < values.names.size(); ++i)
    panel.series.push_back({engine_title(values.names[i], values.evidence[i]),
                            {"hit_percent " + values.names[i]},
                            SeriesStyle::points,
                            i});
  panel.series.push_back({"no policy more than", {"upper_percent"}, SeriesStyle::reference, 1});
  panel.series.push_back({"token by token, endless", {"token_exact_percent"}, SeriesStyle::reference, 0});
  plot.panels.push_back(std::move(panel));
  return plot;
}

}  // namespace hybridkv
