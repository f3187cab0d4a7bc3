#include "verify/fault/plant_descriptors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "verify/transfer/transfer_run.h"
#include "verify/transfer/transfer_stretches.h"

namespace hybridkv {

namespace {

/// Plants one fault of a descriptor.
class DescriptorPlanter {
 public:
  DescriptorPlanter(const PlantContext& context, CopyList& list) : context_(context), list_(list) {}

  PlantedTransfer plant(TransferFault fault) {
    switch (fault) {
      case TransferFault::descriptor_short: cut_descriptor(); break;
      case TransferFault::descriptor_missing: drop_descriptor(); break;
      case TransferFault::descriptor_twice: repeat_descriptor(); break;
      case TransferFault::wrong_dtype: halve_elements(); break;
      case TransferFault::shifted_destination: shift_destination(); break;
      case TransferFault::overlong_write: write_past_end(); break;
      default: throw std::logic_error("no fault of a descriptor alone");
    }
    return std::move(planted_);
  }

 private:
  void place(const RankCopies& pair, std::string where) {
    planted_.where = std::move(where);
    planted_.to_rank = pair.to_rank;
  }
  void no_place(std::string why) { planted_.no_place = std::move(why); }

  const Content& content_of(const Copy& copy) const { return list_.contents[static_cast<std::size_t>(copy.content)]; }

  std::string copy_text(const RankCopies& pair, const Copy& copy) const {
    const Content& content = content_of(copy);
    return fmt::format("rank {} to rank {}, {} bytes of {}layer {} {}", pair.from_rank, pair.to_rank, copy.to_bytes,
                       content.role == SpecRole::draft ? "draft " : "", content.layer, content.tensor);
  }

  /// Elements of a copy's destination: bytes of one.
  std::int64_t to_element(const Copy& copy) const { return element_bytes(content_of(copy).to_dtype); }

  void shorten(Copy& copy, std::int64_t elements) const {
    copy.to_bytes -= elements * to_element(copy);
    copy.bytes -= elements * element_bytes(content_of(copy).from_dtype);
  }

  /// The last copy of the last pair that fits.
  template <class Fits>
  std::pair<RankCopies*, std::size_t> last_copy(Fits&& fits) {
    for (std::size_t p = list_.pairs.size(); p-- > 0;) {
      RankCopies& pair = list_.pairs[p];
      for (std::size_t i = pair.copies.size(); i-- > 0;)
        if (fits(pair, pair.copies[i])) return {&pair, i};
    }
    return {nullptr, 0};
  }

  void cut_descriptor() {
    const auto [pair, i] = last_copy([&](const RankCopies& of, const Copy& copy) {
      if (content_of(copy).tensor != "kv" || copy.to_bytes < 2 * to_element(copy)) return false;
      return ends_in(of.to_rank, copy, LivePart::tokens);
    });
    if (pair == nullptr) return no_place("no run of two elements or more ends in K and V");
    Copy& copy = pair->copies[i];
    place(*pair, copy_text(*pair, copy) + " end too early");
    const std::int64_t elements = copy.to_bytes / to_element(copy);
    shorten(copy, std::min(elements / 2, std::max<std::int64_t>(1, 8 / to_element(copy))));
  }

  /// Does a copy end in bytes of these? Ranges are made once for each rank.
  bool ends_in(std::int64_t to_rank, const Copy& copy, LivePart part) {
    if (ranges_rank_ != to_rank || ranges_part_ != part) {
      ranges_ = live_ranges(context_.to[static_cast<std::size_t>(to_rank)], part);
      ranges_rank_ = to_rank;
      ranges_part_ = part;
    }
    const ByteRange* const range = range_of(copy.to_pool, copy.to + copy.to_bytes - 1);
    return range != nullptr;
  }

  const ByteRange* range_of(std::int64_t pool, std::int64_t byte) const {
    const auto& ranges = ranges_[static_cast<std::size_t>(pool)];
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), byte,
                                        [](std::int64_t at, const ByteRange& range) { return at < range.first; });
    if (after == ranges.begin() || byte >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
  }

  /// Bytes behind a copy's end that are of nothing live.
  std::int64_t gap_behind(std::int64_t to_rank, const Copy& copy) {
    if (!ends_in(to_rank, copy, LivePart::all)) return 0;
    const std::int64_t end = copy.to + copy.to_bytes;
    const ByteRange* const range = range_of(copy.to_pool, end - 1);
    if (range->end != end) return 0;
    const auto& ranges = ranges_[static_cast<std::size_t>(copy.to_pool)];
    const bool is_last = range == &ranges.back();
    const std::int64_t pool =
        context_.to[static_cast<std::size_t>(to_rank)].plan->pools[static_cast<std::size_t>(copy.to_pool)].bytes;
    return (is_last ? pool : (range + 1)->first) - end;
  }

  void drop_descriptor() {
    const auto [pair, i] =
        last_copy([&](const RankCopies&, const Copy& copy) { return content_of(copy).tensor != "kv"; });
    if (pair == nullptr) return no_place("no run begins with a state");
    place(*pair, copy_text(*pair, pair->copies[i]) + " are not copied");
    pair->copies.erase(pair->copies.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void repeat_descriptor() {
    const auto [pair, i] = last_copy([](const RankCopies&, const Copy&) { return true; });
    if (pair == nullptr) return no_place("nothing is copied");
    place(*pair, copy_text(*pair, pair->copies[i]) + " are copied twice");
    pair->copies.push_back(pair->copies[i]);
  }

  void halve_elements() {
    const auto [pair, i] = last_copy([&](const RankCopies&, const Copy& copy) {
      return content_of(copy).tensor != "kv" && copy.to_bytes >= 2 * to_element(copy);
    });
    if (pair == nullptr) return no_place("no run of two elements or more begins with a state");
    Copy& copy = pair->copies[i];
    place(*pair, copy_text(*pair, copy) + ": elements taken for half as large");
    shorten(copy, copy.to_bytes / to_element(copy) - copy.to_bytes / to_element(copy) / 2);
  }

  void shift_destination() {
    const auto [pair, i] = last_copy([&](const RankCopies& of, const Copy& copy) {
      return gap_behind(of.to_rank, copy) >= to_element(copy);
    });
    if (pair == nullptr) return no_place("every run ends at another, so a shifted one meets it");
    Copy& copy = pair->copies[i];
    place(*pair, fmt::format("{} lie {} bytes further on", copy_text(*pair, copy), to_element(copy)));
    copy.to += to_element(copy);
  }

  void write_past_end() {
    constexpr std::int64_t most = 64;
    std::int64_t more = 0;
    const auto [pair, i] = last_copy([&](const RankCopies& of, const Copy& copy) {
      const auto& pools = context_.from[static_cast<std::size_t>(of.from_rank)].plan->pools;
      const std::int64_t readable =
          pools[static_cast<std::size_t>(copy.from_pool)].bytes - copy.from - copy.bytes;
      more = std::min({most, gap_behind(of.to_rank, copy), readable});
      return more > 0;
    });
    if (pair == nullptr) return no_place("something live lies behind every run");
    const Copy& copy = pair->copies[i];
    planted_.overwrites.push_back({pair->from_rank,
                                   pair->to_rank,
                                   {{.from = copy.from + copy.bytes,
                                     .to = copy.to + copy.to_bytes,
                                     .bytes = more,
                                     .to_bytes = more,
                                     .from_pool = copy.from_pool,
                                     .to_pool = copy.to_pool,
                                     .content = raw_bytes}}});
    place(*pair, fmt::format("{} and {} more", copy_text(*pair, copy), more));
  }

  const PlantContext& context_;
  CopyList& list_;
  PlantedTransfer planted_;
  std::vector<std::vector<ByteRange>> ranges_;  // of one rank
  std::int64_t ranges_rank_ = -1;
  LivePart ranges_part_ = LivePart::all;
};

}  // namespace

PlantedTransfer plant_descriptor_fault(TransferFault fault, const PlantContext& context, CopyList& list) {
  return DescriptorPlanter(context, list).plant(fault);
}

}  // namespace hybridkv
