#include "verify/layout/address_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "layout/coalesce.h"
#include "layout/disjointness.h"
#include "layout/for_each_index.h"
#include "layout/injectivity.h"

namespace hybridkv {

namespace {

constexpr std::int64_t shrunken_pages = 3;

/// Views by the page they share: same block table, same bytes of its ids, same piece of an entry.
std::vector<std::vector<std::size_t>> views_by_page(const CachePlan& plan, std::span<const BoundView> views) {
  using Page = std::tuple<std::int64_t, LaneId, std::int64_t, std::int64_t>;  // table, lane, byte, piece
  std::map<Page, std::vector<std::size_t>> pages;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const ViewPlan& view = views[i].view;
    pages[{views[i].table, view.lane, page_region(plan, views[i], view.lane).offset, view.piece}].push_back(i);
  }
  std::vector<std::vector<std::size_t>> lists;
  for (auto& [key, list] : pages) lists.push_back(std::move(list));
  return lists;
}

const LanePlan& lane_of(const CachePlan& plan, const BoundView& view) { return plan.lanes[view.view.lane.index()]; }

/// Of ids, or of the places in them, that the block axis of a view counts.
std::int64_t num_ids(const CachePlan& plan, const BoundView& view) { return plan.num_places(group_of(plan, view)); }

std::int64_t stride_of(const CachePlan& plan, const BoundView& view) {
  return lane_of(plan, view).stride / group_of(plan, view).entries_per_id;
}

/// Pieces of the lanes of one pool never share a byte, and lie inside it.
void check_lanes(const CachePlan& plan, CheckResult& result) {
  std::vector<std::vector<PlacedLayout>> of_pool(plan.pools.size());
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const LanePlan& lane = plan.lanes[i];
    const std::int64_t ids = plan.arenas[lane.arena.index()].num_ids;
    const PlacedLayout pieces{Layout({{"id", ids, lane.stride}, {"byte", lane.bytes, 1}}, lane.offset), 1, 0};
    if (!contains(plan.pools[lane.pool.index()].bytes, pieces))
      result.fail(fmt::format("lane {}: its {} pieces of {} bytes end outside pool {} of {} bytes", i, ids, lane.bytes,
                              lane.pool.value, plan.pools[lane.pool.index()].bytes));
    of_pool[lane.pool.index()].push_back(pieces);
  }
  for (std::size_t pool = 0; pool < of_pool.size(); ++pool) {
    const Disjointness disjoint = check_disjoint(of_pool[pool]);
    if (disjoint.answer == Answer::no)
      result.fail(fmt::format("pool {}, byte {}: pieces of two lanes meet", pool, disjoint.overlap->byte_address));
    if (disjoint.answer == Answer::unknown)
      result.fail(fmt::format("pool {}: its lanes could not be proven apart", pool));
  }
}

std::int64_t block_axis_position(const BoundView& view) { return view.address.find("block"); }

/// Steps of whole kernel blocks must add up to exactly one page, and page 0 must hold all of its share.
void check_pages(const CachePlan& plan, const BoundView& view, CheckResult& result) {
  const std::int64_t step = view.address.stride("block"), stride = stride_of(plan, view);
  for (std::int64_t i = 0; i < view.lanes; ++i) {
    const LaneId number{view.view.lane.value + i};
    const PageRegion region = page_region(plan, view, number);
    const ByteExtent extent = byte_extent({view.page_bytes(number, 0), 1, 0});
    if (extent.end > region.begin(0) + region.bytes || extent.begin < region.begin(0))
      result.fail(fmt::format("{}: the view's part of block 0 ends at byte {}, its page at {}",
                              view.place(plan, 0, extent.end - 1), extent.end, region.begin(0) + region.bytes));
  }
  const std::int64_t page_step = Checked(step) * view.kernel_blocks_per_page;
  if (page_step != stride)
    result.fail(fmt::format("{}: {} kernel blocks of {} bytes step {} bytes a page instead of {}",
                            view.place(plan, 1, byte_extent(view.placed()).begin + step * view.kernel_blocks_per_page),
                            view.kernel_blocks_per_page, step, page_step, stride));
  const std::int64_t pool_bytes = plan.pools[view.view.pool].bytes;
  if (!contains(pool_bytes, view.placed()))
    result.fail(fmt::format("{}: the view ends outside its pool of {} bytes",
                            view.place(plan, num_ids(plan, view) - 1, byte_extent(view.placed()).end - 1), pool_bytes));
}

void check_no_overlap(const CachePlan& plan, std::span<const BoundView> views, const std::vector<std::size_t>& page,
                      CheckResult& result) {
  std::vector<PlacedLayout> placed;
  for (std::size_t i : page) {
    placed.push_back(views[i].placed());
    const Answer injective = is_injective(views[i].bytes());
    if (injective != Answer::yes)
      result.fail(fmt::format("{}: two elements of the view share an address (injective: {})",
                              views[i].place(plan, 0, byte_extent(placed.back()).begin), to_string(injective)));
  }
  const Disjointness disjoint = check_disjoint(placed);
  if (disjoint.answer == Answer::unknown)
    result.fail(fmt::format("{}: could not be proven apart from the other views of its page",
                            views[page.front()].place(plan, 0, 0)));
  if (disjoint.answer != Answer::no) return;
  const Overlap& overlap = *disjoint.overlap;
  const BoundView& first = views[page[overlap.first]];
  const BoundView& second = views[page[overlap.second]];
  const std::int64_t block =
      overlap.first_index[block_axis_position(first)] / first.kernel_blocks_per_page;
  result.fail(fmt::format("{} also belongs to {}", first.place(plan, block, overlap.byte_address), second.name(plan)));
}

/// The addresses with their block axis cut to a few pages; strides stay those of the full pool.
Layout shrunken(const BoundView& view, std::int64_t pages) {
  std::vector<Axis> axes(view.address.axes().begin(), view.address.axes().end());
  axes[block_axis_position(view)].extent = pages * view.kernel_blocks_per_page;
  return Layout(axes, view.address.offset());
}

/// Who has the bytes of the pages of a shrunken pool, lane by lane. `Place`: of a view in the list of its page; the
/// narrower it is, the less memory is walked through.
template <class Place>
class PageOwners {
 public:
  PageOwners(const CachePlan& plan, std::span<const BoundView> views, const std::vector<std::size_t>& page)
      : plan_(plan), views_(views), page_(page),
        pages_(std::min(shrunken_pages, num_ids(plan, views[page.front()]))) {
    const BoundView& any = views[page.front()];
    for (std::int64_t i = 0; i < any.lanes; ++i)
      regions_.push_back(page_region(plan, any, {any.view.lane.value + i}));
    bytes_ = regions_.front().bytes;  // every lane of a page has as many
    owner_.assign(Checked(any.lanes) * pages_ * bytes_, nobody);
  }

  /// Visits every element of a view, a row of neighbours at a time, and marks its bytes.
  void mark_all(std::size_t place, CheckResult& result) {
    const BoundView& view = views_[page_[place]];
    const Layout cut = shrunken(view, pages_);
    const std::int64_t element = view.element_bytes();
    const int last = cut.rank() - 1;
    const bool has_rows = last >= 0 && last != block_axis_position(view) && cut[last].stride == element &&
                          (view.lanes == 1 || last != view.address.find("head"));
    const std::int64_t row = has_rows ? cut[last].extent : 1;
    const Layout rows = has_rows && row > 0
                            ? Layout(cut.axes().first(static_cast<std::size_t>(last)), cut.offset()) : cut;
    for_each_index(rows, [&](std::span<const std::int64_t> index, std::int64_t byte) {
      result.count += row;
      const Within within{index[block_axis_position(view)] / view.kernel_blocks_per_page,
                          view.lane_of(index).value - view.view.lane.value};
      if (take_free(within, byte, row * element, static_cast<Place>(place))) return;
      for (std::int64_t i = 0; i < row; ++i) mark(within, byte + i * element, place, result);
    });
  }

 private:
  static constexpr Place nobody = std::numeric_limits<Place>::max();

  struct Within {
    std::int64_t block, lane;
  };

  bool is_inside(Within within, std::int64_t byte, std::int64_t bytes) const {
    const std::int64_t begin = regions_[within.lane].begin(within.block);
    return byte >= begin && byte + bytes <= begin + bytes_;
  }

  /// The marks of the bytes that begin at `byte`. Pre: they are inside.
  Place* marks(Within within, std::int64_t byte) {
    return owner_.data() + (within.lane * pages_ + within.block) * bytes_ +
           (byte - regions_[within.lane].begin(within.block));
  }

  /// Marks these bytes where they all are of the page and nobody's; else false, and nothing is marked.
  bool take_free(Within within, std::int64_t byte, std::int64_t bytes, Place place) {
    if (!is_inside(within, byte, bytes)) return false;
    Place* const first = marks(within, byte);
    if (bytes == 0) return true;
    // All are nobody's where the first is and each is as the one before: a comparison that takes many at a time.
    if (*first != nobody || std::memcmp(first, first + 1, static_cast<std::size_t>(bytes - 1) * sizeof *first) != 0)
      return false;
    std::fill_n(first, bytes, place);
    return true;
  }

  /// The same of one element, with what is wrong about each of its bytes.
  void mark(Within within, std::int64_t byte, std::size_t place, CheckResult& result) {
    const BoundView& view = views_[page_[place]];
    if (!is_inside(within, byte, view.element_bytes())) {
      result.fail(fmt::format("{} lies outside its page", view.place(plan_, within.block, byte)));
      return;
    }
    Place* const first = marks(within, byte);
    for (std::int64_t k = 0; k < view.element_bytes(); ++k) {
      if (first[k] != nobody)
        result.fail(fmt::format("{} already belongs to {}", view.place(plan_, within.block, byte + k),
                                views_[page_[first[k]]].name(plan_)));
      first[k] = static_cast<Place>(place);
    }
  }

  const CachePlan& plan_;
  std::span<const BoundView> views_;
  const std::vector<std::size_t>& page_;
  std::int64_t pages_;
  std::vector<PageRegion> regions_;  ///< by lane
  std::int64_t bytes_ = 0;           ///< of a page in a lane
  std::vector<Place> owner_;         ///< (lane, page, byte)
};

/// Visits every element of the views of one page in a shrunken pool and marks its bytes.
void enumerate_page(const CachePlan& plan, std::span<const BoundView> views, const std::vector<std::size_t>& page,
                    CheckResult& result) {
  const auto enumerate = [&](auto owners) {
    for (std::size_t place = 0; place < page.size(); ++place) owners.mark_all(place, result);
  };
  if (page.size() < std::numeric_limits<std::uint8_t>::max())
    return enumerate(PageOwners<std::uint8_t>(plan, views, page));
  expects(page.size() < std::numeric_limits<std::uint32_t>::max(), "a page counts its views in 32 bits");
  enumerate(PageOwners<std::uint32_t>(plan, views, page));
}

/// The byte an element should start at, axis by axis in arithmetic that throws rather than wraps.
std::int64_t exact_address(const BoundView& view, std::span<const std::int64_t> index) {
  Checked byte = view.address.offset();
  for (int axis = 0; axis < view.address.rank(); ++axis) byte += Checked(index[axis]) * view.address[axis].stride;
  return byte;
}

struct Sample {
  std::int64_t pool;
  std::int64_t byte;
  std::size_t view;
  auto operator<=>(const Sample&) const = default;
};

void sample_block(const CachePlan& plan, std::span<const BoundView> views, std::size_t i, std::int64_t block,
                  std::uint64_t seed, std::vector<Sample>& samples, CheckResult& result) {
  constexpr std::int64_t samples_per_block = 64;
  const BoundView& view = views[i];
  const Layout& layout = view.address;
  std::vector<std::int64_t> index(layout.rank());
  for (std::int64_t n = 0; n < samples_per_block; ++n) {
    for (int axis = 0; axis < layout.rank(); ++axis) {
      const bool is_block = layout[axis].name == AxisName("block");
      const std::int64_t extent = is_block ? view.kernel_blocks_per_page : layout[axis].extent;
      const std::uint64_t draw = mix(seed, mix(n, axis));
      // The first and the last element of a block are where a wrong stride shows first.
      const std::int64_t position = n == 0 ? 0 : n == 1 ? extent - 1 : static_cast<std::int64_t>(draw % extent);
      index[axis] = is_block ? block * view.kernel_blocks_per_page + position : position;
    }
    ++result.count;
    const std::int64_t byte = view.byte_address(index);
    if (byte != exact_address(view, index)) {
      result.fail(fmt::format("{}: the engine computes this address, exact arithmetic gives {}",
                              view.place(plan, block, byte), exact_address(view, index)));
      return;
    }
    const PageRegion region = page_region(plan, view, view.lane_of(index));
    if (byte < region.begin(block) || byte + view.element_bytes() > region.begin(block) + region.bytes) {
      result.fail(fmt::format("{} lies outside its page", view.place(plan, block, byte)));
      return;
    }
    samples.push_back({view.view.pool, byte, i});
  }
}

/// "group 3 (layer 7 …)"; a group may have no layer on this stage of a pipeline.
std::string name_of(const CachePlan& plan, std::size_t group) {
  const auto& pages = plan.groups[group].pages;
  return pages.empty() ? fmt::format("group {}", group)
                       : fmt::format("group {} (layer {} …)", group, pages.front().front());
}

/// Of the pool, at which a block of a group begins.
std::int64_t byte_of(const CachePlan& plan, std::size_t group, std::int64_t id) {
  return plan.lanes[plan.groups[group].first_lane.index()].begin(id);
}

using OwnerGroups = std::map<std::pair<ArenaId, std::int64_t>, std::size_t>;

/// Every id belongs to one group, and one that is split to one request. `holder`: of the places of a group the request.
void audit_owners(const CachePlan& plan, std::size_t group, const std::map<std::int64_t, std::size_t>& holder,
                  OwnerGroups& owner_group, CheckResult& result) {
  const std::int64_t entries = plan.groups[group].entries_per_id;
  std::map<std::int64_t, std::size_t> holder_of_id;
  for (const auto& [place, request] : holder) {
    const std::int64_t id = place / entries;
    const auto [other, is_new] = owner_group.try_emplace({plan.groups[group].arena, id}, group);
    if (!is_new && other->second != group)
      result.fail(fmt::format("{}, request {}: block {}, byte {}, already belongs to group {}", name_of(plan, group),
                              request, id, byte_of(plan, group, id), other->second));
    if (const auto [first, alone] = holder_of_id.try_emplace(id, request); first->second != request)
      result.fail(fmt::format("group {}: large page {} has small pages of requests {} and {}", group, id,
                              first->second, request));
  }
}

}  // namespace

CheckResult audit_by_intervals(const CachePlan& plan, std::span<const BoundView> views) {
  CheckResult result{.unit = "elements proven"};
  for (const BoundView& view : views) {
    check_pages(plan, view, result);
    result.count = Checked(result.count) + view.address.num_elements();
  }
  for (const auto& page : views_by_page(plan, views)) check_no_overlap(plan, views, page, result);
  check_lanes(plan, result);
  return result;
}

CheckResult audit_by_enumeration(const CachePlan& plan, std::span<const BoundView> views) {
  const auto pages = views_by_page(plan, views);
  std::vector<CheckResult> results(pages.size());
  parallel_for(pages.size(), [&](std::size_t i) { enumerate_page(plan, views, pages[i], results[i]); });
  CheckResult total{.unit = "elements of three pages"};
  total.add(results);
  return total;
}

CheckResult audit_by_samples(const CachePlan& plan, std::span<const BoundView> views,
                             const BlockAssignment& assignment, std::uint64_t seed) {
  CheckResult result{.unit = "elements of far blocks"};
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < views.size(); ++i) {
    std::vector<std::int64_t> blocks = assignment.held_by(views[i].group, views[i].view.piece);
    blocks.push_back(num_ids(plan, views[i]) - 1);
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (std::int64_t block : blocks) sample_block(plan, views, i, block, mix(seed, i), samples, result);
  }
  // The same element may be drawn twice; two views at one byte of one pool are two owners only in the same group.
  std::sort(samples.begin(), samples.end());
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    if (a.pool != b.pool || a.byte != b.byte || a.view == b.view || views[a.view].table != views[b.view].table ||
        views[a.view].view.piece != views[b.view].view.piece)
      continue;
    const LanePlan& lane = lane_of(plan, views[a.view]);
    result.fail(fmt::format("{} also belongs to {}",
                            views[a.view].place(plan, (a.byte - lane.offset) / stride_of(plan, views[a.view]), a.byte),
                            views[b.view].name(plan)));
  }
  return result;
}

CheckResult audit_alignment(const CachePlan& plan, std::span<const BoundView> views) {
  CheckResult result{.unit = "tensors"};
  for (const BoundView& view : views) {
    ++result.count;
    const std::int64_t element = view.element_bytes(), first = view.address.offset();
    if (first % element != 0)
      result.fail(fmt::format("{} does not start on a multiple of its {}-byte elements", view.place(plan, 0, first),
                              element));
    for (const Axis& axis : view.address.axes())
      if (axis.extent > 1 && axis.stride % element != 0)
        result.fail(fmt::format("{}: neighbours along {} lie {} bytes apart, no multiple of its {}-byte elements",
                                view.place(plan, 0, first), axis.name.view(), axis.stride, element));
  }
  return result;
}

CheckResult audit_block_tables(const CachePlan& plan, const BlockAssignment& assignment) {
  CheckResult result{.unit = "block ids"};
  OwnerGroups owner_group;
  for (std::size_t group = 0; group < assignment.ids.size(); ++group) {
    if (plan.groups[group].shares_table) {
      if (assignment.ids[group] != assignment.ids[group - 1])
        result.fail(fmt::format("group {}: its block table is not that of group {}, which it shares", group,
                                group - 1));
      continue;
    }
    const SpecPlan& spec = plan.spec_of(plan.groups[group]);
    const std::int64_t of_encoder = spec.is_cross() ? table_entries(table_rule(plan, spec), 1) : 0;
    std::map<std::int64_t, std::size_t> holder;
    for (std::size_t request = 0; request < assignment.ids[group].size(); ++request) {
      const std::vector<std::int64_t>& table = assignment.ids[group][request];
      if (spec.is_cross() && std::ssize(table) != of_encoder)
        result.fail(fmt::format("{}, request {}: {} blocks, up to block {}, byte {}; {} tokens of the encoder take {}",
                                name_of(plan, group), request, table.size(), table.empty() ? 0 : table.back(),
                                table.empty() ? 0 : byte_of(plan, group, table.back()), spec.encoder_tokens,
                                of_encoder));
      for (std::size_t position = 0; position < assignment.ids[group][request].size(); ++position) {
        const std::int64_t id = assignment.ids[group][request][position];
        ++result.count;
        const std::string where =
            fmt::format("{}, request {}, position {}", name_of(plan, group), request, position);
        const std::int64_t entries = plan.groups[group].entries_per_id;
        if (id >= 0 && id < entries && plan.arena_of(plan.groups[group]).has_null_id)
          result.fail(fmt::format("{}: block {}, byte 0, is the null block and was handed out", where, id));
        if (const std::int64_t ids = plan.num_places(plan.groups[group]); id < 0 || id >= ids)
          result.fail(fmt::format("{}: block {} is outside the pool of {} blocks", where, id, ids));
        const auto [other, is_new] = holder.try_emplace(id, request);
        const bool shared_prefix = !spec.is_cross() && position == 0 && request == 1 && other->second == 0;
        if (!is_new && !shared_prefix)
          result.fail(fmt::format("{}: block {}, byte {}, is already held by request {}", where, id,
                                  byte_of(plan, group, id / entries), other->second));
      }
    }
    audit_owners(plan, group, holder, owner_group, result);
  }
  return result;
}

}  // namespace hybridkv
