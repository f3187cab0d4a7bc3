#include "report/plot_prefix.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "planner/prefix.h"
#include "report/human.h"
#include "report/plan_table.h"
#include "report/plot_layouts.h"
#include "simulator/closed_form.h"
#include "simulator/plan_geometry.h"

namespace hybridkv {

namespace {

/// One layout in one mode, as far as prefix caching goes.
struct Stairs {
  std::string column;
  std::string title;
  CacheGeometry geometry;
};

bool has_recurrent(const CachePlan& plan) { return largest_state(plan) != nullptr; }

/// The scenario's packs in that mode. Memory is set aside: hits depend on blocks, not on how many there are.
std::vector<Stairs> stairs_in_mode(const PlotInputs& inputs, CacheMode mode) {
  EngineSpec engine = inputs.engine;
  engine.cache_mode = mode;
  engine.num_blocks = std::int64_t{1} << 24;
  std::vector<std::int64_t> packs;
  for (const CachePlan& plan : inputs.set.plans) packs.push_back(plan.attention_pack_size);
  std::vector<Stairs> stairs;
  for (const CachePlan& plan : make_plans(inputs.model, engine, inputs.limits, packs).plans)
    stairs.push_back({fmt::format("hit_n{}", plan.attention_pack_size), layout_title(plan), geometry_of(plan, engine)});
  return stairs;
}

/// Lengths at which stairs may rise or fall, and their neighbours.
void add_corners(std::set<std::int64_t>& lengths, std::int64_t at, std::int64_t most) {
  for (const std::int64_t near : {at - 1, at, at + 1})
    if (near >= 1 && near <= most) lengths.insert(near);
}

/// In mode align a prompt that ends on a block boundary is an edge of its own: nothing of it hits.
bool is_knife_edge(const Stairs& stairs, std::int64_t length) {
  return stairs.geometry.aligns_chunks() && length % stairs.geometry.block_size_tokens == 0;
}

std::string edge_column(const Stairs& stairs) { return "on_boundary_" + stairs.column; }

std::int64_t copy_hit(const Stairs& stairs, std::int64_t length) {
  const CacheGeometry& geometry = stairs.geometry;
  return duplicate_hit_tokens(geometry.mode, geometry.state_groups > 0, geometry.block_size_tokens,
                              geometry.drafter_drops_block, length);
}

/// Hits of a prompt sent a second time; lengths on a knife edge have a column of their own.
Table copy_table(const std::vector<Stairs>& all, std::int64_t most) {
  std::vector<Column> columns{{"prompt_tokens"}};
  std::set<std::int64_t> lengths{1, most};
  for (const Stairs& stairs : all) {
    columns.push_back({stairs.column});
    for (std::int64_t at = stairs.geometry.block_size_tokens; at <= most; at += stairs.geometry.block_size_tokens)
      add_corners(lengths, at, most);
  }
  for (const Stairs& stairs : all) columns.push_back({edge_column(stairs)});
  Table table(std::move(columns));
  for (const std::int64_t length : lengths) {
    std::vector<Cell> cells{length};
    std::vector<Cell> edges;
    for (const Stairs& stairs : all) {
      std::optional<std::int64_t> hit, edge;
      // Between its own corners a line needs no points.
      const std::int64_t beside = length % stairs.geometry.block_size_tokens;
      const bool corner =
          length == 1 || length == most || beside <= 1 || beside == stairs.geometry.block_size_tokens - 1;
      if (corner) (is_knife_edge(stairs, length) ? edge : hit) = copy_hit(stairs, length);
      cells.push_back(cell_of(hit));
      edges.push_back(cell_of(edge));
    }
    cells.insert(cells.end(), edges.begin(), edges.end());
    table.add_row(std::move(cells));
  }
  return table;
}

/// Hits where only the first tokens of a cached prompt are shared.
Table shared_table(const std::vector<Stairs>& all, std::int64_t cached) {
  std::vector<Column> columns{{"shared_tokens"}};
  std::vector<std::set<std::int64_t>> corners;
  std::set<std::int64_t> lengths;
  for (const Stairs& stairs : all) {
    columns.push_back({stairs.column});
    corners.push_back({1, cached});
    const std::int64_t drop = stairs.geometry.drafter_drops_block ? stairs.geometry.block_size_tokens : 0;
    if (can_prefill(stairs.geometry))
      for (const std::int64_t at : checkpoint_positions(stairs.geometry, cached))
        add_corners(corners.back(), at + drop, cached);
    lengths.insert(corners.back().begin(), corners.back().end());
  }
  Table table(std::move(columns));
  for (const std::int64_t length : lengths) {
    std::vector<Cell> cells{length};
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::optional<std::int64_t> hit;
      if (corners[i].contains(length)) hit = shared_prefix_hit(all[i].geometry, cached, length);
      cells.push_back(cell_of(hit));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

/// What all layouts show in one situation: the numbers, and the words around them.
struct Situation {
  std::string heading;
  std::string x_column;
  std::string x_title;
  std::int64_t most = 0;      ///< tokens shown
  std::vector<Stairs> all;
  std::size_t table = 0;
};

/// One layout in one situation, in front of what could be found at best: all that is shared.
PlotPanel hit_facet(const Situation& situation, std::size_t layout, int across) {
  const Stairs& stairs = situation.all[layout];
  const auto most = static_cast<double>(situation.most);
  const PlotAxis tokens{.least = 0, .most = most, .ticks = {0, most / 2, most}, .whole = true};
  PlotPanel panel{stairs.title, situation.table, situation.x_column, tokens, tokens, {}};
  panel.x.title = situation.x_title;
  panel.x.unit = panel.y.unit = "tokens";
  panel.y.title = "hit";
  panel.series.push_back({"all that is shared", {situation.x_column}, SeriesStyle::context});
  panel.series.push_back({stairs.title, {stairs.column}, SeriesStyle::thin, 0});
  if (stairs.geometry.aligns_chunks() && situation.x_column == "prompt_tokens")
    panel.series.push_back({"the prompt ends on a block boundary", {edge_column(stairs)}, SeriesStyle::marks, 1});
  panel.across = across;
  if (layout == 0) panel.heading = situation.heading;
  return panel;
}

/// A round number of at least three of the largest blocks.
std::int64_t shown_tokens(const std::vector<Stairs>& all) {
  std::int64_t largest = 1;
  for (const Stairs& stairs : all) largest = std::max(largest, stairs.geometry.block_size_tokens);
  std::int64_t shown = 1024;
  while (shown < Checked(largest) * 3) shown *= 2;
  return shown;
}

}  // namespace

bool can_prefill(const CacheGeometry& geometry) {
  return !geometry.aligns_chunks() || geometry.max_num_batched_tokens >= geometry.block_size_tokens;
}

std::int64_t shared_prefix_hit(const CacheGeometry& geometry, std::int64_t cached_tokens, std::int64_t shared_tokens) {
  if (!geometry.caches_prefixes() || !can_prefill(geometry)) return 0;
  const std::int64_t block = geometry.block_size_tokens;
  const std::int64_t matched =
      std::max<std::int64_t>(0, shared_tokens / block - (geometry.drafter_drops_block ? 1 : 0)) * block;
  if (geometry.state_groups == 0) return matched;
  std::int64_t hit = 0;
  for (const std::int64_t at : checkpoint_positions(geometry, cached_tokens))
    if (at <= matched) hit = at;
  return hit;
}

Plot plot_staircase(const PlotInputs& inputs) {
  Plot plot{.name = "staircase",
            .title = "Tokens that hit against the tokens that are shared",
            .subtitle = fmt::format("{}, tensor parallel {}, {} tokens a step", inputs.set.model,
                                    inputs.set.tensor_parallel, human_count(inputs.engine.max_num_batched_tokens))};
  std::vector<Situation> situations;
  const auto add_copies = [&](CacheMode mode, const std::string& heading) {
    Situation copies{heading, "prompt_tokens", "length of the prompt", 0, stairs_in_mode(inputs, mode),
                     plot.tables.size()};
    copies.most = shown_tokens(copies.all);
    plot.tables.push_back({fmt::format("copy-{}", to_string(mode)), copy_table(copies.all, copies.most)});
    situations.push_back(std::move(copies));
  };
  if (!has_recurrent(inputs.set.plans.front())) {
    plot.caption = "A prompt is sent a second time: attention alone finds every whole block before its last token.";
    add_copies(inputs.engine.cache_mode, "A copy");
  } else {
    plot.caption =
        "Left and middle, a prompt is sent a second time. Its last token is never matched; mode align keeps one state, "
        "at the last block boundary, so a prompt that ends on one hits nothing (marks on the axis). Right, only the "
        "first tokens of a long cached prompt are shared: mode align finds no more than the states that its chunks "
        "left behind. Grey: all that is shared.";
    add_copies(CacheMode::align, "A copy, mode align");
    add_copies(CacheMode::all, "A copy, mode all");
    const std::int64_t cached = longest_length(inputs.set);
    situations.push_back({fmt::format("First tokens of {}, align", human_count(cached)), "shared_tokens",
                          "shared with it", cached, stairs_in_mode(inputs, CacheMode::align), plot.tables.size()});
    plot.tables.push_back({"shared-align", shared_table(situations.back().all, cached)});
  }
  // A row a layout, a column a situation.
  const int across = std::max(2, static_cast<int>(situations.size()));
  if (situations.size() == 1)
    for (std::size_t i = 0; i < situations[0].all.size(); ++i)
      plot.panels.push_back(hit_facet(situations[0], i, across));
  else
    for (std::size_t i = 0; i < situations[0].all.size(); ++i)
      for (const Situation& situation : situations) plot.panels.push_back(hit_facet(situation, i, across));
  return plot;
}

}  // namespace hybridkv
