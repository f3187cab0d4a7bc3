#include "report/plot/page_map_plots.h"

#include <fmt/format.h>

#include "base/error.h"
#include "report/plot/page_map_svg.h"
#include "report/plot/plot_layouts.h"

namespace hybridkv {

namespace {

/// One row per part: group, pool, kernel block, layer, tensor, half, begin and end byte.
Table page_table(const std::vector<PageStrip>& strips) {
  Table table({{"group"}, {"pool"}, {"kernel_block"}, {"layer"}, {"tensor"}, {"half"}, {"begin_byte"}, {"end_byte"}});
  for (const PageStrip& strip : strips)
    for (const PagePart& part : strip.parts)
      table.add_row({strip.group, strip.pool, cell_of(part.kernel_block), cell_of(part.layer), part.tensor, part.half,
                     part.bytes.begin, part.bytes.end});
  return table;
}

}  // namespace

std::vector<Plot> plot_page_maps(const PlanSet& set, const PageMaps& maps) {
  expects(maps.plans.size() == set.plans.size(), "there is a page map of every plan");
  std::vector<Plot> plots;
  for (std::size_t i = 0; i < set.plans.size(); ++i) {
    const CachePlan& plan = set.plans[i];
    Plot plot{.name = fmt::format("page-map-n{}", plan.attention_pack_size),
              .title = fmt::format("Page map, N = {}", plan.attention_pack_size),
              .subtitle = plot_subtitle(set),
              .caption = "The bytes of one page as each kind of group sees it, enumerated from the views of the plan.",
              .pack = plan.attention_pack_size};
    plot.tables.push_back({"", page_table(maps.plans[i])});
    plot.svg = [&set, &plan, strips = maps.plans[i]](int width) { return page_map_svg(set, plan, strips, width); };
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace hybridkv
