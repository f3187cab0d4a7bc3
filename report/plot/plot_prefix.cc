#include "report/plot/plot_prefix.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/field.h"
#include "report/human.h"
#include "report/plot/plot_layouts.h"

namespace hybridkv {

namespace {

/// How a legend calls the layout.
std::string title_of(const LayoutStairs& stairs) {
  return layout_title(stairs.attention_pack_size, stairs.block_size_tokens);
}

std::string column_of(const LayoutStairs& stairs) { return fmt::format("hit_n{}", stairs.attention_pack_size); }

std::string edge_column(const LayoutStairs& stairs) { return "on_boundary_" + column_of(stairs); }

/// A row per length; of copies, lengths on a knife edge have a column of their own.
Table hit_table(const PrefixSituation& situation, const char* x_column) {
  using At = std::size_t;  // position of a length
  std::vector<Field<At>> fields{{{x_column}, [&](At at) { return situation.lengths[at]; }}};
  for (const LayoutStairs& stairs : situation.layouts)
    fields.push_back({{column_of(stairs)}, [&](At at) { return stairs.hits[at]; }});
  for (const LayoutStairs& stairs : situation.layouts)
    fields.push_back({{edge_column(stairs)}, [&](At at) { return stairs.hits_on_boundary[at]; }, situation.is_copy});
  return table_of_positions(fields, situation.lengths.size());
}

/// A situation with the words around it.
struct ShownSituation {
  const PrefixSituation* situation = nullptr;
  std::string heading;
  const char* x_column = nullptr;
  std::string x_title;
};

/// One layout in one situation, in front of what could be found at best: all that is shared.
PlotPanel hit_facet(const ShownSituation& shown, std::size_t table, std::size_t layout, int across) {
  const LayoutStairs& stairs = shown.situation->layouts[layout];
  const auto most = static_cast<double>(shown.situation->most_tokens);
  const PlotAxis tokens{.least = 0, .most = most, .ticks = {0, most / 2, most}, .whole = true};
  PlotPanel panel{title_of(stairs), table, shown.x_column, tokens, tokens, {}};
  panel.x.title = shown.x_title;
  panel.x.unit = panel.y.unit = "tokens";
  panel.y.title = "hit";
  panel.series.push_back({"all that is shared", {shown.x_column}, SeriesStyle::context});
  panel.series.push_back({title_of(stairs), {column_of(stairs)}, SeriesStyle::thin, 0});
  if (stairs.has_edges)
    panel.series.push_back({"the prompt ends on a block boundary", {edge_column(stairs)}, SeriesStyle::marks, 1});
  panel.across = across;
  if (layout == 0) panel.heading = shown.heading;
  return panel;
}

ShownSituation shown(const PrefixSituation& situation, bool only_one) {
  if (!situation.is_copy)
    return {&situation, fmt::format("First tokens of {}, {}", human_count(situation.most_tokens),
                                    to_string(situation.mode)),
            "shared_tokens", "shared with it"};
  return {&situation, only_one ? "A copy" : fmt::format("A copy, mode {}", to_string(situation.mode)),
          "prompt_tokens", "length of the prompt"};
}

}  // namespace

Plot plot_staircase(const PlotInputs& inputs, const std::vector<PrefixSituation>& situations) {
  Plot plot{.name = "staircase",
            .title = "Tokens that hit against the tokens that are shared",
            .subtitle = fmt::format("{}, tensor parallel {}, {} tokens a step", inputs.set.model,
                                    inputs.set.tensor_parallel, human_count(inputs.engine.max_num_batched_tokens))};
  const bool only_one = situations.size() == 1;
  plot.caption =
      only_one
          ? "A prompt is sent a second time: attention alone finds every whole block before its last token."
      : !inputs.engine.rules->has_mode_all
          ? "Left, a prompt is sent a second time: the last state that is kept lies before its last token, which is "
            "never matched. Right, only the first tokens of a long cached prompt are shared: its last state alone is "
            "kept. Grey: all that is shared."
          : "Left and middle, a prompt is sent a second time. Its last token is never matched; mode align keeps one "
            "state, at the last block boundary, so a prompt that ends on one hits nothing (marks on the axis). Right, "
            "only the first tokens of a long cached prompt are shared: mode align finds no more than the states that "
            "its chunks left behind. Grey: all that is shared.";
  // A row a layout, a column a situation.
  const int across = std::max(2, static_cast<int>(situations.size()));
  std::vector<ShownSituation> all;
  for (const PrefixSituation& situation : situations) {
    all.push_back(shown(situation, only_one));
    plot.tables.push_back({fmt::format("{}-{}", situation.is_copy ? "copy" : "shared", to_string(situation.mode)),
                           hit_table(situation, all.back().x_column)});
  }
  for (std::size_t layout = 0; layout < situations.front().layouts.size(); ++layout)
    for (std::size_t i = 0; i < all.size(); ++i) plot.panels.push_back(hit_facet(all[i], i, layout, across));
  return plot;
}

}  // namespace hybridkv
