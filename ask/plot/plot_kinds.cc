#include "ask/plot/plot_kinds.h"

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
    {PlotKind::waterfall, "waterfall",
     "where the tokens went that an earlier prompt began with, by cause; one picture a pack"},
    {PlotKind::memory_curve, "memory-curve",
     "hit rate over memory by what is evicted, with the bounds, of the first pack"},
};

}  // namespace

std::span<const PlotKindInfo> all_plot_kinds() { return kinds; }

std::optional<PlotKind> parse_plot_kind(std::string_view name) {
  for (const PlotKindInfo& info : kinds)
    if (info.name == name) return info.kind;
  return std::nullopt;
}

}  // namespace hybridkv
