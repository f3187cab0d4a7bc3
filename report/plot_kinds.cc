#include "report/plot_kinds.h"

#include <stdexcept>

#include "report/page_map_svg.h"
#include "report/plot_layouts.h"
#include "report/plot_prefix.h"
#include "report/plot_simulation.h"

namespace hybridkv {

namespace {

constexpr PlotKindInfo kinds[] = {
    {PlotKind::block_size, "block-size", "block, padding and wasted bytes against the pack size"},
    {PlotKind::request_bytes, "request-bytes", "bytes of one request against its length, with the ideal"},
    {PlotKind::concurrency, "concurrency", "requests at once against the pack size, at several lengths"},
    {PlotKind::staircase, "staircase", "tokens that hit against the tokens that are shared, in modes align and all"},
    {PlotKind::hit_rate, "hit-rate", "hit rate under simulated traffic against the pack size and against memory"},
    {PlotKind::page_map, "page-map",
     "one page byte by byte, as each kind of group sees it, with the strides; one picture a pack"},
    {PlotKind::blocks_in_use, "blocks-in-use", "blocks in use over simulated traffic; one picture a pack"},
};

}  // namespace

std::span<const PlotKindInfo> all_plot_kinds() { return kinds; }

std::optional<PlotKind> parse_plot_kind(std::string_view name) {
  for (const PlotKindInfo& info : kinds)
    if (info.name == name) return info.kind;
  return std::nullopt;
}

std::vector<Plot> make_plots(PlotKind kind, const PlotInputs& inputs) {
  switch (kind) {
    case PlotKind::block_size:
      return {plot_block_size(inputs.compared)};
    case PlotKind::request_bytes:
      return {plot_request_bytes(inputs.set)};
    case PlotKind::concurrency:
      return {plot_concurrency(inputs.compared)};
    case PlotKind::staircase:
      return {plot_staircase(inputs)};
    case PlotKind::hit_rate:
      return {plot_hit_rate(inputs)};
    case PlotKind::page_map:
      return plot_page_maps(inputs.set);
    case PlotKind::blocks_in_use:
      return plot_blocks_in_use(inputs);
  }
  throw std::logic_error("unknown plot kind");
}

}  // namespace hybridkv
