#include "report/plot/plot_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/field.h"
#include "report/human.h"
#include "report/plot/plot_layouts.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

constexpr double bytes_of_gib = 1073741824.0;

/// Memories of accelerators, of several, and of hosts, GiB.
constexpr double real_sizes[] = {4, 8, 12, 16, 24, 40, 80, 141, 192, 288, 512, 1024, 2048, 4096};

Cell share_cell(const std::optional<double>& share) {
  return Percent{share ? 100 * *share : std::numeric_limits<double>::quiet_NaN()};
}

Cell found_cell(const std::optional<ReplayCounts>& found) {
  const bool says_nothing = !found || found->unserved() > 0;
  return Percent{says_nothing ? std::numeric_limits<double>::quiet_NaN() : 100 * found->hit_rate()};
}

}  // namespace

Plot plot_memory_curves(const PlotInputs& inputs, const MemoryCurves& values) {
  using At = std::size_t;  // position of a memory
  std::vector<Field<At>> fields{{{"memory_bytes"}, [&](At at) { return values.memory_bytes[at]; }}};
  for (std::size_t i = 0; i < values.policies.size(); ++i)
    fields.push_back({{fmt::format("hit_percent_{}", to_string(values.policies[i]))},
                      [&, i](At at) { return found_cell(values.found[i][at]); }});
  fields.push_back({{"feasible_percent"}, [&](At at) { return share_cell(values.feasible[at]); }});
  fields.push_back({{"upper_percent"}, [&](At at) { return share_cell(values.upper[at]); }});
  const bool bounded = std::any_of(values.upper.begin(), values.upper.end(),
                                   [](const std::optional<double>& upper) { return upper.has_value(); });
  Plot plot{.name = "memory-curve",
            .title = "Prompt tokens found again over memory, by what is evicted",
            .subtitle = fmt::format("{}, {}", inputs.model.name, layout_title(inputs.set.plans.front())),
            .caption = fmt::format("{}.{}{}", replay_caption(values.trace, inputs.simulate.driver),
                                   bounded ? " Possible: a schedule that knows the whole trace." : "",
                                   values.policies.size() > 1 ? " Policies but lru are modelled: no engine has them."
                                                              : "")};
  plot.tables.push_back({"", table_of_positions(fields, values.memory_bytes.size())});
  PlotAxis memory{.title = "memory of the pools", .unit = "GiB", .divisor = bytes_of_gib};
  memory.logarithmic = true;
  memory.least = static_cast<double>(values.memory_bytes.front()) / bytes_of_gib * 0.95;
  memory.most = static_cast<double>(values.memory_bytes.back()) / bytes_of_gib * 1.05;
  for (const double size : real_sizes)
    if (size >= memory.least && size <= memory.most) memory.ticks.push_back(size);
  PlotPanel panel{"", 0, "memory_bytes", memory,
                  {.title = "hit rate", .unit = "% of prompt tokens", .floor = 0, .ceiling = 100}, {}};
  for (std::size_t i = 0; i < values.policies.size(); ++i)
    panel.series.push_back({std::string(to_string(values.policies[i])),
                            {fmt::format("hit_percent_{}", to_string(values.policies[i]))},
                            SeriesStyle::points,
                            i});
  if (bounded) {
    panel.series.push_back({"possible, at least", {"feasible_percent"}, SeriesStyle::thin, 3});
    panel.series.push_back({"no policy more than", {"upper_percent"}, SeriesStyle::reference, 0});
  }
  plot.panels.push_back(std::move(panel));
  return plot;
}

}  // namespace hybridkv
