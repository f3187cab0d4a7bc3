#include "transfer/page_runs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/checked.h"
#include "layout/for_each_run.h"
#include "layout/slice.h"
#include "planner/view_places.h"

namespace hybridkv {

namespace {

/// Bytes of a pool, for one id of those that hold an entry.
struct ByteRun {
  std::int64_t pool = 0;
  std::int64_t piece = 0;
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

struct RunSum {
  std::int64_t runs = 0;
  std::int64_t bytes = 0;
};

/// Runs that touch or overlap count once: layers of a group may share the gaps of their pages.
RunSum joined(std::vector<ByteRun> runs) {
  std::sort(runs.begin(), runs.end(), [](const ByteRun& one, const ByteRun& other) {
    return std::tie(one.pool, one.piece, one.begin) < std::tie(other.pool, other.piece, other.begin);
  });
  RunSum sum;
  const ByteRun* last = nullptr;
  std::int64_t end = 0;
  for (const ByteRun& run : runs) {
    const bool follows = last != nullptr && last->pool == run.pool && last->piece == run.piece && run.begin <= end;
    const std::int64_t fresh = follows ? std::max<std::int64_t>(0, run.begin + run.bytes - end) : run.bytes;
    sum.runs += !follows;
    sum.bytes += fresh;
    end = follows ? std::max(end, run.begin + run.bytes) : run.begin + run.bytes;
    last = &run;
  }
  return sum;
}

/// The bytes of a view in one entry.
void add_content(const ViewPlan& view, const SpecPlan& spec, std::vector<ByteRun>& runs) {
  const std::int64_t kernel_blocks = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
  const Layout page = slice(view.bytes, "block", kernel_blocks, kernel_blocks);  // of id 1, as of any other
  std::vector<Axis> axes(page.axes().begin(), page.axes().end());
  if (const std::int64_t element = element_bytes(view.dtype); element > 1) axes.push_back({"byte", element, 1});
  for_each_run(Layout(axes, page.offset()), [&](std::int64_t offset, std::int64_t count) {
    runs.push_back({view.pool, view.piece, offset, count});
  });
}

/// The bytes of all pages of a group in one entry, padding and all.
void add_pages(const CachePlan& plan, const GroupPlan& group, std::vector<ByteRun>& runs) {
  for (std::size_t page = 0; page < group.pages.size(); ++page) {
    if (group.pages[page].empty()) continue;
    for (std::int64_t part = 0; part < group.lanes_per_page; ++part) {
      const LanePlan& lane = plan.lanes[static_cast<std::size_t>(plan.lane_of(group, page).value + part)];
      const std::int64_t bytes = group.in_lane ? group.in_lane->bytes : lane.bytes / group.entries_per_id;
      for (std::int64_t piece = 0; piece < group.ids_per_entry; ++piece)
        runs.push_back({lane.pool.value, piece,
                        lane.offset + lane.stride / group.entries_per_id + plan.offset_in_piece(group, page), bytes});
    }
  }
}

}  // namespace

std::vector<PageRuns> page_runs(const CachePlan& plan) {
  const std::vector<ViewPlace> places = view_places(plan);
  std::map<std::size_t, std::pair<std::vector<ByteRun>, std::vector<ByteRun>>> by_table;  // content, pages
  for (std::size_t i = 0; i < plan.views.size(); ++i)
    add_content(plan.views[i], plan.specs[static_cast<std::size_t>(plan.views[i].spec)],
                by_table[static_cast<std::size_t>(places[i].table)].first);
  std::size_t table = 0;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    if (!plan.groups[i].shares_table) table = i;
    add_pages(plan, plan.groups[i], by_table[table].second);
  }
  std::vector<PageRuns> all;
  for (auto& [group, runs] : by_table) {
    if (runs.first.empty()) continue;
    const RunSum content = joined(std::move(runs.first)), pages = joined(std::move(runs.second));
    all.push_back({group, content.bytes, content.runs, pages.bytes, pages.runs});
  }
  return all;
}

}  // namespace hybridkv
