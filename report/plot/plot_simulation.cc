#include "report/plot/plot_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "report/field.h"
#include "report/human.h"
#include "report/plot/plot_layouts.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::size_t most_series_points = 300;  ///< more than a picture can show

/// Which rules are modelled, and how many requests were not taken in.
std::string replay_notes(const SimulationStats& stats) {
  std::string notes = modelled_sentence(stats.modelled);
  if (stats.too_long > 0)
    notes += " " + too_long_text(stats.too_long, stats.requests, *stats.geometry.scheduler.max_model_len) + ".";
  return notes;
}

/// How requests come, for below a title. Pre: they run beside each other.
std::string arrival_text(const DriverSpec& driver) {
  if (driver.kind == DriverKind::open_loop) return "requests by their timestamps";
  return in_flight_text(driver);
}

/// In percent; nothing where the pool is too small for a request of the trace, which says nothing of hits.
Cell rate_cell(const SimulationStats& stats) {
  if (stats.refused > 0 || stats.stalled > 0) return Percent{std::numeric_limits<double>::quiet_NaN()};
  return Percent{100 * stats.hit_rate()};
}

/// Ticks at the memories that were simulated, in GiB.
PlotAxis memory_axis(std::int64_t bytes) {
  PlotAxis axis{.title = "memory of the pools", .unit = "GiB", .divisor = static_cast<double>(gib)};
  axis.logarithmic = true;
  for (const std::int64_t eighths : memory_eighths)
    axis.ticks.push_back(static_cast<double>(std::int64_t{Checked(bytes) * eighths / 8}) / axis.divisor);
  axis.least = axis.ticks.front() * 0.9;
  axis.most = axis.ticks.back() * 1.1;
  return axis;
}

}  // namespace

Plot plot_hit_rate(const PlotInputs& inputs, const HitRates& values) {
  const std::vector<PlanRates>& rates = values.plans;
  const std::vector<CachePlan>& plans = inputs.compared.plans;
  using At = std::size_t;  // position of a plan, or of a memory
  std::vector<At> order(plans.size());
  std::iota(order.begin(), order.end(), At{0});
  std::sort(order.begin(), order.end(),
            [&](At a, At b) { return plans[a].attention_pack_size < plans[b].attention_pack_size; });
  const std::vector<Field<At>> of_pack{
      {{"attention_pack_size"}, [&](At i) { return plans[i].attention_pack_size; }},
      {{"block_size_tokens"}, [&](At i) { return rates[i].unlimited.geometry.block_size_tokens; }},
      {{"hit_percent"}, [&](At i) { return rate_cell(rates[i].by_memory[whole_memory]); }},
      {{"unlimited_hit_percent"}, [&](At i) { return rate_cell(rates[i].unlimited); }}};
  std::vector<Field<At>> of_memory{{{"memory_bytes"}, [&](At k) {
    return std::int64_t{Checked(plans.front().memory_bytes()) * memory_eighths[k] / 8};
  }}};
  for (At i = 0; i < plans.size(); ++i)
    of_memory.push_back({{fmt::format("hit_percent_n{}", plans[i].attention_pack_size)},
                         [&, i](At k) { return rate_cell(rates[i].by_memory[k]); }});
  Plot plot{.name = "hit-rate",
            .title = "Prompt tokens found again",
            .subtitle = plot_subtitle(inputs.compared),
            .caption =
                fmt::format("{}. {}", replay_caption(values.trace, inputs.simulate.driver),
                            replay_notes(rates.front().by_memory[whole_memory]))};
  plot.tables.push_back({"pack", table_of(of_pack, order)});
  plot.tables.push_back({"memory", table_of_positions(of_memory, std::size(memory_eighths))});
  const PlotAxis y{.title = "hit rate", .unit = "% of prompt tokens", .floor = 0, .ceiling = 100};
  plot.panels.push_back({"Against the pack size",
                         0,
                         "attention_pack_size",
                         pack_axis(inputs.compared),
                         y,
                         {{"this memory", {"hit_percent"}, SeriesStyle::points, 0},
                          {"never evicting", {"unlimited_hit_percent"}, SeriesStyle::reference, 0}}});
  PlotPanel memory{"Against memory", 1, "memory_bytes", memory_axis(plans.front().memory_bytes()), y, {}};
  for (std::size_t i = 0; i < plans.size(); ++i)
    memory.series.push_back({layout_title(plans[i]),
                             {fmt::format("hit_percent_n{}", plans[i].attention_pack_size)},
                             SeriesStyle::points,
                             i});
  plot.panels.push_back(std::move(memory));
  return plot;
}

std::vector<Plot> plot_blocks_in_use(const PlotInputs& inputs, const BlocksInUse& values) {
  std::vector<Plot> plots;
  for (std::size_t i = 0; i < inputs.set.plans.size(); ++i) {
    const CachePlan& plan = inputs.set.plans[i];
    const SimulationStats& stats = values.plans[i];
    using Row = SeriesPoint;
    const std::vector<Field<Row>> fields{
        {{"step"}, &Row::step},
        {{"held_state_blocks"}, &Row::held_state_blocks},
        {{"held_attention_blocks"}, [](const Row& at) { return at.held_blocks - at.held_state_blocks; }},
        {{"findable_blocks"}, &Row::findable_blocks},
        {{"usable_blocks"}, [&](const Row&) { return values.usable_ids[i]; }},
        {{"running_requests"}, &Row::running_requests},
        {{"waiting_requests"}, &Row::waiting_requests}};
    const std::vector<Row>& points = stats.series.points();
    const std::size_t stride = points.size() / most_series_points + 1;
    std::vector<Row> shown;
    for (std::size_t k = 0; k < points.size(); k += stride) shown.push_back(points[k]);
    Plot plot{.name = fmt::format("blocks-in-use-n{}", plan.attention_pack_size),
              .title = fmt::format("Blocks in use over a trace, {}", layout_title(plan)),
              .subtitle = fmt::format("{}, {}", plot_subtitle(inputs.set), arrival_text(values.driver)),
              .caption = fmt::format("{}. {}", values.trace, replay_notes(stats)),
              .pack = plan.attention_pack_size};
    plot.tables.push_back({"", table_of(fields, shown)});
    const PlotAxis x{
        .title = "step of the scheduler", .least = 0, .most = static_cast<double>(stats.steps), .whole = true};
    plot.panels.push_back({"Blocks",
                           0,
                           "step",
                           x,
                           {.title = "blocks", .least = 0, .whole = true},
                           {{"held: attention", {"held_state_blocks", "held_attention_blocks"}, SeriesStyle::area, 1},
                            {"held: states", {"held_state_blocks"}, SeriesStyle::area, 0},
                            {"findable", {"findable_blocks"}, SeriesStyle::thin, 1},
                            {"usable", {"usable_blocks"}, SeriesStyle::reference, 0}}});
    plot.panels.push_back({"Requests",
                           0,
                           "step",
                           x,
                           {.title = "requests", .least = 0, .whole = true},
                           {{"running", {"running_requests"}, SeriesStyle::thin, 0},
                            {"waiting", {"waiting_requests"}, SeriesStyle::thin, 1}}});
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace hybridkv
