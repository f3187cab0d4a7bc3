#include "ask/plot/page_strip.h"

#include <algorithm>

#include "base/error.h"
#include "layout/for_each_run.h"
#include "layout/slice.h"
#include "verify/layout/bound_view.h"

namespace hybridkv {

namespace {

/// More pieces than this of one K or V in one kernel block mean that the layout mixes K and V.
constexpr std::size_t most_pieces = 64;

/// Stretches of a layout of single bytes, ascending, neighbours merged.
std::vector<ByteExtent> bytes_of(const Layout& layout) {
  std::vector<ByteExtent> runs;
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count) {
    runs.push_back({offset, offset + count});
  });
  std::sort(runs.begin(), runs.end(), [](const ByteExtent& a, const ByteExtent& b) { return a.begin < b.begin; });
  std::vector<ByteExtent> merged;
  for (const ByteExtent& run : runs) {
    if (!merged.empty() && merged.back().end == run.begin)
      merged.back().end = run.end;
    else
      merged.push_back(run);
  }
  return merged;
}

/// The view in the page of id 0, counted from its front, heads that lie apart one behind the other.
Layout in_page(const BoundView& bound, const PageStrip& strip, std::int64_t page_bytes) {
  const Layout in_pool = bound.page_bytes(0);
  std::vector<Axis> axes(in_pool.axes().begin(), in_pool.axes().end());
  if (strip.runs > 1) axes[static_cast<std::size_t>(in_pool.find("head"))].stride = page_bytes / strip.runs;
  return Layout(axes, in_pool.offset() - strip.front);
}

/// The parts of one view in its page, kernel block by kernel block.
void add_parts(std::vector<PagePart>& parts, const BoundView& bound, const Layout& page) {
  const bool split = bound.kernel_blocks_per_page > 1;
  for (std::int64_t kernel = 0; kernel < bound.kernel_blocks_per_page; ++kernel) {
    const Layout block = slice(page, "block", kernel);
    const auto add = [&](const std::vector<ByteExtent>& pieces, const char* half) {
      for (const ByteExtent& piece : pieces)
        parts.push_back(
            {piece, bound.view.layer, bound.view.tensor, half, split ? std::optional(kernel) : std::nullopt});
    };
    if (block.find("kv") >= 0 && block.extent("kv") == 2) {
      const std::vector<ByteExtent> k = bytes_of(slice(block, "kv", 0));
      if (k.size() <= most_pieces) {
        add(k, "K");
        add(bytes_of(slice(block, "kv", 1)), "V");
        continue;
      }
    }
    add(bytes_of(block), "");
  }
}

/// Puts padding wherever no part lies.
std::vector<PagePart> with_padding(std::vector<PagePart> parts, std::int64_t page_bytes) {
  std::sort(parts.begin(), parts.end(),
            [](const PagePart& a, const PagePart& b) { return a.bytes.begin < b.bytes.begin; });
  std::vector<PagePart> all;
  std::int64_t end = 0;
  for (PagePart& part : parts) {
    expects(part.bytes.begin >= end, "the views of a page do not overlap");
    if (part.bytes.begin > end) all.push_back({{end, part.bytes.begin}, std::nullopt, "padding", "", std::nullopt});
    end = part.bytes.end;
    all.push_back(std::move(part));
  }
  expects(end <= page_bytes, "the views of a page lie inside it");
  if (end < page_bytes) all.push_back({{end, page_bytes}, std::nullopt, "padding", "", std::nullopt});
  return all;
}

/// The page of a group in a pool. Pre: the group has one there; the views are of the plan.
PageStrip page_strip(const CachePlan& plan, const std::vector<BoundView>& views, std::int64_t group,
                     std::int64_t page) {
  const GroupPlan& of = plan.groups[static_cast<std::size_t>(group)];
  const LaneId lane = plan.lane_of(of, static_cast<std::size_t>(page));
  PageStrip strip{.group = group,
                  .pool = page,
                  .front = plan.lanes[lane.index()].offset + plan.offset_in_piece(of, static_cast<std::size_t>(page)),
                  .runs = of.lanes_per_page};
  std::vector<PagePart> parts;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].group != group || views[i].page != page || views[i].view.piece != 0) continue;
    strip.views.push_back(i);
    strip.kernel_blocks = views[i].kernel_blocks_per_page;
    if (plan.cache_order == CacheOrder::bhlnc) {
      strip.front = views[i].view.bytes.offset();
      strip.runs = views[i].view.bytes.extent("head");
    }
    add_parts(parts, views[i], in_page(views[i], strip, plan.page_bytes(of)));
  }
  expects(!strip.views.empty(), "the group has a page in that pool");
  strip.parts = with_padding(std::move(parts), plan.page_bytes(of));
  return strip;
}

}  // namespace

std::vector<PageStrip> page_strips(const CachePlan& plan) {
  require_views(plan);
  const std::vector<BoundView> views = bind_views(plan);
  std::vector<PageStrip> strips;
  std::vector<std::int64_t> seen;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (std::find(seen.begin(), seen.end(), group.spec) != seen.end()) continue;
    seen.push_back(group.spec);
    strips.push_back(page_strip(plan, views, static_cast<std::int64_t>(i), 0));
  }
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    const SpecPlan& spec = plan.specs[static_cast<std::size_t>(group.spec)];
    const std::int64_t last = std::ssize(group.pages) - 1;
    if (last > 0 && std::ssize(group.pages.back()) < spec.layers_per_page)
      strips.push_back(page_strip(plan, views, static_cast<std::int64_t>(i), last));
  }
  return strips;
}

}  // namespace hybridkv
