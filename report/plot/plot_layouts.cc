#include "report/plot/plot_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/field.h"
#include "report/human.h"
#include "report/plan/plan_table.h"

namespace hybridkv {

namespace {

constexpr double mib = 1024.0 * 1024.0;

std::string column_of(const char* what, const CachePlan& plan) {
  return fmt::format("{}_n{}", what, plan.attention_pack_size);
}

/// Plans by pack size, as lines through them need it.
std::vector<const CachePlan*> by_pack(const PlanSet& set) {
  std::vector<const CachePlan*> plans;
  for (const CachePlan& plan : set.plans) plans.push_back(&plan);
  std::sort(plans.begin(), plans.end(),
            [](const CachePlan* a, const CachePlan* b) { return a->attention_pack_size < b->attention_pack_size; });
  return plans;
}

/// Causes of waste in the order in which they are stacked, with their column, and the ones that never occur left out.
struct WasteCause {
  const char* title;
  const char* column;
  std::int64_t LoadWaste::*bytes;
};
constexpr WasteCause waste_causes[] = {
    {"empty slots", "empty_slot_bytes", &LoadWaste::empty_position_bytes},
    {"short packs", "short_pack_bytes", &LoadWaste::short_pack_bytes},
    {"block tails", "block_tail_bytes", &LoadWaste::block_tail_bytes},
    {"state padding", "state_padding_bytes", &LoadWaste::state_padding_bytes},
    {"attention padding", "attention_padding_bytes", &LoadWaste::attention_padding_bytes},
    {"unused small pages", "unused_entry_bytes", &LoadWaste::unused_entry_bytes},
};

std::vector<PlotSeries> waste_series(const PlanSet& set) {
  std::vector<PlotSeries> stacked;
  std::vector<std::string> below;
  std::size_t look = 0;
  for (const WasteCause& cause : waste_causes) {
    const std::size_t own_look = look++;
    if (std::all_of(set.plans.begin(), set.plans.end(),
                    [&](const CachePlan& plan) { return plan.waste.at_load.*cause.bytes == 0; }))
      continue;
    below.emplace_back(cause.column);
    stacked.push_back({cause.title, below, SeriesStyle::bar, own_look});
  }
  std::reverse(stacked.begin(), stacked.end());
  if (stacked.empty()) stacked.push_back({"nothing", {waste_causes[0].column}, SeriesStyle::bar, 0});
  return stacked;
}

std::string load_text(const PlanSet& set) {
  const auto& tokens = set.plans.front().waste.at_load.sequence_tokens;
  if (tokens.size() == 1) return fmt::format("one request of {} tokens", human_count(tokens.front()));
  return fmt::format("{} running requests", human_count(static_cast<std::int64_t>(tokens.size())));
}

/// 0, a quarter, a half, three quarters and the whole, where these are whole numbers worth reading.
std::vector<double> length_ticks(std::int64_t longest) {
  if (longest % 4 != 0) return {};
  std::vector<double> ticks;
  for (std::int64_t part = 0; part <= 4; ++part) ticks.push_back(static_cast<double>(longest / 4 * part));
  return ticks;
}

/// About four steps of the widest stairs, a round number; at most the longest length.
std::int64_t shown_stairs(const PlanSet& set, std::int64_t longest) {
  std::int64_t widest = 1;
  for (const CachePlan& plan : set.plans) widest = std::max(widest, primary_block_tokens(plan));
  std::int64_t shown = 1024;
  while (shown < longest && shown < Checked(widest) * 3) shown *= 2;
  return std::min(shown, longest);
}

PlotAxis request_axis(std::int64_t shown) {
  return {.title = "length of the request",
          .unit = "tokens",
          .least = 0,
          .most = static_cast<double>(shown),
          .ticks = length_ticks(shown)};
}

/// The cheapest and the dearest layout at the longest length, which the others lie between, and the ideal.
PlotPanel extremes_panel(const PlanSet& set, const RequestBytes& values) {
  PlotPanel panel{"Bytes, of the layouts that take least and most at the end",
                  0,
                  "request_tokens",
                  request_axis(values.lengths.back()),
                  {.title = "request", .unit = "MiB", .divisor = mib, .least = 0},
                  {}};
  const auto bytes = [&](std::size_t plan) { return *values.bytes[plan].back(); };
  std::size_t least = 0, most = 0;
  for (std::size_t i = 1; i < set.plans.size(); ++i) {
    if (bytes(i) < bytes(least)) least = i;
    if (bytes(i) > bytes(most)) most = i;
  }
  const auto add = [&](std::size_t i, std::size_t look) {
    panel.series.push_back({layout_title(set.plans[i]), {column_of("bytes", set.plans[i])}, SeriesStyle::thin, look});
  };
  if (most != least) add(most, 1);
  add(least, 0);
  panel.series.push_back({"ideal", {"ideal_bytes"}, SeriesStyle::reference, 0});
  if (set.plans.size() == 1) panel.title = "Bytes";
  return panel;
}

/// What one layout takes more than the ideal, of short requests, in front of all the others.
PlotPanel over_ideal_facet(const PlanSet& set, std::size_t plan, std::int64_t longest) {
  PlotAxis x = request_axis(shown_stairs(set, longest));
  x.ticks = {0, *x.most / 2, *x.most};
  PlotPanel panel{layout_title(set.plans[plan]),
                  0,
                  "request_tokens",
                  x,
                  {.title = "over the ideal", .unit = "MiB", .divisor = mib},
                  {}};
  panel.across = 3;
  for (const CachePlan& other : set.plans)
    if (&other != &set.plans[plan])
      panel.series.push_back({layout_title(other), {column_of("over_ideal_bytes", other)}, SeriesStyle::context});
  const CachePlan& own = set.plans[plan];
  panel.series.push_back({layout_title(own), {column_of("over_ideal_bytes", own)}, SeriesStyle::thin, 0});
  return panel;
}

}  // namespace

std::string plot_subtitle(const PlanSet& set) {
  const CachePlan& plan = set.plans.front();
  const bool is_default = plan.rules == EngineSpec{}.rules;
  return fmt::format("{}, tensor parallel {}, mode {}, {}{}{}", set.model, set.tensor_parallel,
                     to_string(plan.cache_mode), human_bytes(plan.memory_bytes()),
                     set.tensor_parallel > 1 ? " a rank" : "",
                     is_default ? "" : fmt::format(", {}", plan.rules->title));
}

std::string layout_title(const CachePlan& plan) {
  return layout_title(plan.attention_pack_size, primary_block_tokens(plan));
}

std::string layout_title(std::int64_t attention_pack_size, std::int64_t block_size_tokens) {
  return fmt::format("N = {}, block {}", attention_pack_size, human_count(block_size_tokens));
}

PlotAxis pack_axis(const PlanSet& set) {
  PlotAxis axis{.title = "pack size N, attention layers a page"};
  for (const CachePlan& plan : set.plans) axis.ticks.push_back(static_cast<double>(plan.attention_pack_size));
  std::sort(axis.ticks.begin(), axis.ticks.end());
  axis.least = axis.ticks.front() - 0.6;
  axis.most = axis.ticks.back() + 0.6;
  return axis;
}

Plot plot_block_size(const PlanSet& set) {
  expects(!set.plans.empty(), "a plot shows at least one plan");
  using Row = const CachePlan*;
  const auto padding = [](Row plan) {
    const SpecPlan* state = largest_state(*plan);
    return Real{(state != nullptr ? *state : primary_spec(*plan)).padding_percent};
  };
  std::vector<Field<Row>> fields{{{"attention_pack_size"}, &CachePlan::attention_pack_size},
                                 {{"block_size_tokens"}, [](Row plan) { return primary_block_tokens(*plan); }},
                                 {{"padding_percent"}, padding}};
  for (const WasteCause& cause : waste_causes)
    fields.push_back({{cause.column}, [&](Row plan) { return plan->waste.at_load.*cause.bytes; }});
  const PlotAxis x = pack_axis(set);
  Plot plot{
      .name = "block-size",
      .title = "Block, padding and wasted bytes against the pack size",
      .subtitle = plot_subtitle(set),
      .caption = fmt::format("The block in tokens, the padding that rounding it up leaves in each page of a state, and "
                             "the bytes wasted by {}, by cause.",
                             load_text(set))};
  plot.tables.push_back({"", table_of(fields, by_pack(set))});
  plot.panels = {{"Block",
                  0,
                  "attention_pack_size",
                  x,
                  {.title = "block", .unit = "tokens", .least = 0, .whole = true},
                  {{"block", {"block_size_tokens"}, SeriesStyle::points, 0, false}}},
                 {"Padding of the page",
                  0,
                  "attention_pack_size",
                  x,
                  {.title = "padding", .unit = "% of the state", .least = 0},
                  {{"padding", {"padding_percent"}, SeriesStyle::points, 1, false}}},
                 {"Wasted by " + load_text(set),
                  0,
                  "attention_pack_size",
                  x,
                  {.title = "wasted", .unit = "MiB", .divisor = mib, .least = 0},
                  waste_series(set)}};
  return plot;
}

Plot plot_request_bytes(const PlanSet& set, const RequestBytes& values) {
  const std::int64_t longest = values.lengths.back();
  using At = std::size_t;  // position of a length
  std::vector<Field<At>> fields{{{"request_tokens"}, [&](At at) { return values.lengths[at]; }},
                                {{"ideal_bytes"}, [&](At at) { return values.ideal_bytes[at]; }}};
  for (std::size_t i = 0; i < set.plans.size(); ++i)
    fields.push_back({{column_of("bytes", set.plans[i])}, [&, i](At at) { return values.bytes[i][at]; }});
  for (std::size_t i = 0; i < set.plans.size(); ++i)
    fields.push_back({{column_of("over_ideal_bytes", set.plans[i])}, [&, i](At at) {
                        const auto& bytes = values.bytes[i][at];
                        return bytes ? Cell(*bytes - values.ideal_bytes[at]) : Cell();
                      }});
  Plot plot{.name = "request-bytes",
            .title = "Bytes of one request against its length",
            .subtitle = plot_subtitle(set),
            .caption =
                "All block ids that a request of that length takes, every group and pool counted. The ideal has no "
                "paging: K and V of its tokens and one state of each recurrent layer. Below, what each layout takes "
                "more than the ideal, with the others in grey."};
  plot.tables.push_back({"", table_of_positions(fields, values.lengths.size())});
  plot.panels = {extremes_panel(set, values)};
  for (std::size_t i = 0; i < set.plans.size(); ++i) plot.panels.push_back(over_ideal_facet(set, i, longest));
  return plot;
}

Plot plot_concurrency(const PlanSet& set, const ConcurrencyCurves& values) {
  expects(!set.plans.empty(), "a plot shows at least one plan");
  const std::vector<std::int64_t>& lengths = values.lengths;
  using Row = const CachePlan*;
  const std::vector<Row> plans = by_pack(set);
  const auto requests = [&](Row plan, std::size_t at) {
    return values.requests[static_cast<std::size_t>(plan - set.plans.data())][at];
  };
  std::vector<Field<Row>> fields{{{"attention_pack_size"}, &CachePlan::attention_pack_size}};
  for (std::size_t at = 0; at < lengths.size(); ++at)
    fields.push_back({{fmt::format("requests_at_{}", lengths[at])},
                      [&, at](Row plan) { return Real{requests(plan, at)}; }});
  for (std::size_t at = 0; at < lengths.size(); ++at)
    fields.push_back({{fmt::format("gain_percent_at_{}", lengths[at])}, [&, at](Row plan) {
                        return Percent{100 * (requests(plan, at) / requests(plans.front(), at) - 1)};
                      }});
  Plot plot{.name = "concurrency",
            .title = "Requests at once against the pack size",
            .subtitle = plot_subtitle(set),
            .caption = "Blocks without the null block, divided by the block ids of one request of that length."};
  plot.tables.push_back({"", table_of(fields, plans)});
  PlotPanel requests_panel{"Requests that fit at once",
                           0,
                           "attention_pack_size",
                           pack_axis(set),
                           {.title = "requests at once", .least = 0},
                           {}};
  PlotPanel gain_panel{fmt::format("Compared with N = {}", plans.front()->attention_pack_size),
                       0,
                       "attention_pack_size",
                       pack_axis(set),
                       {.title = "more requests", .unit = "%"},
                       {}};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::string title = human_count(lengths[i]) + " tokens";
    requests_panel.series.push_back({title, {fmt::format("requests_at_{}", lengths[i])}, SeriesStyle::points, i});
    gain_panel.series.push_back({title, {fmt::format("gain_percent_at_{}", lengths[i])}, SeriesStyle::points, i});
  }
  plot.panels = {std::move(requests_panel)};
  if (plans.size() > 1) plot.panels.push_back(std::move(gain_panel));  // compared with itself, one says nothing
  return plot;
}

}  // namespace hybridkv
