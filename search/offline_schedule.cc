#include "search/offline_schedule.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace hybridkv {

namespace {

/// Room over time: places in a row, of which a stretch can be taken at once and asked for its least.
class Room {
 public:
  explicit Room(const std::vector<std::int64_t>& room) {
    while (leaves_ < room.size()) leaves_ *= 2;
    least_.assign(2 * leaves_, 0);
    taken_.assign(2 * leaves_, 0);
    std::copy(room.begin(), room.end(), least_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_ - 1; node > 0; --node)
      least_[node] = std::min(least_[2 * node], least_[2 * node + 1]);
  }

  /// Takes bytes of the places [begin, end); negative bytes give them back.
  void take(std::int64_t begin, std::int64_t end, std::int64_t bytes) {
    if (begin < end) take(1, 0, static_cast<std::int64_t>(leaves_), begin, end, bytes);
  }
  /// The least room of the places [begin, end).
  std::int64_t least(std::int64_t begin, std::int64_t end) const {
    return least(1, 0, static_cast<std::int64_t>(leaves_), begin, end);
  }

 private:
  void take(std::size_t node, std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t end,
            std::int64_t bytes) {
    if (begin <= from && to <= end) {
      taken_[node] += bytes;
      least_[node] -= bytes;
      return;
    }
    const std::int64_t middle = (from + to) / 2;
    if (begin < middle) take(2 * node, from, middle, begin, end, bytes);
    if (end > middle) take(2 * node + 1, middle, to, begin, end, bytes);
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]) - taken_[node];
  }

  std::int64_t least(std::size_t node, std::int64_t from, std::int64_t to, std::int64_t begin,
                     std::int64_t end) const {
    if (begin <= from && to <= end) return least_[node];
    const std::int64_t middle = (from + to) / 2;
    std::int64_t found = INT64_MAX;
    if (begin < middle) found = std::min(found, least(2 * node, from, middle, begin, end));
    if (end > middle) found = std::min(found, least(2 * node + 1, middle, to, begin, end));
    return found - taken_[node];
  }

  std::size_t leaves_ = 1;
  std::vector<std::int64_t> least_;
  std::vector<std::int64_t> taken_;
};

class ScheduleMaker {
 public:
  ScheduleMaker(const ReusePaths& paths, const CacheSizes& sizes, const std::vector<double>& price, Room tokens,
            std::optional<Room> states)
      : paths_(paths), sizes_(sizes), tokens_(std::move(tokens)), states_(std::move(states)) {
    sums_.assign(1, 0);
    for (const double of_gap : price) sums_.push_back(sums_.back() + of_gap);
    schedule_.units.assign(static_cast<std::size_t>(paths.num_requests()), 0);
  }

  OfflineSchedule run() {
    std::vector<Offer> offers;
    for (std::int64_t request = 0; request < paths_.num_requests(); ++request) offer(request, offers);
    std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) { return a.worth > b.worth; });
    for (const Offer& one : offers) accept(one);
    for (std::int64_t request = 0; request < paths_.num_requests(); ++request) fill(request);
    return std::move(schedule_);
  }

 private:
  struct Offer {
    double worth = 0;  ///< tokens found for each that the bytes cost
    std::int32_t request = 0;
    std::int32_t units = 0;
  };

  std::int32_t& units_of(std::int64_t request) { return schedule_.units[static_cast<std::size_t>(request)]; }

  enum class Kept { tokens, state };

  /// Calls visit(kind, place of the first, place behind the last, bytes) for what a hit keeps. Places are, by turns,
  /// requests and the gaps behind them.
  template <class Visit>
  void for_each_stretch(std::int64_t request, std::int32_t units, Visit visit) const {
    std::int32_t begin = 0;
    for (const ReuseStretch& stretch : paths_.stretches(request)) {
      const std::int32_t end = std::min(stretch.end_unit, units);
      const std::int64_t left = 2 * std::int64_t(stretch.last);
      visit(Kept::tokens, left + 1, 2 * request, sizes_.unit_bytes * (end - begin));
      if (end == units) {
        visit(Kept::state, left, 2 * request, sizes_.state_bytes);
        return;
      }
      begin = end;
    }
  }

  double cost(std::int64_t request, std::int32_t units) const {
    double sum = 0;
    for_each_stretch(request, units, [&](Kept, std::int64_t first, std::int64_t, std::int64_t bytes) {
      sum += static_cast<double>(bytes) *
             (sums_[static_cast<std::size_t>(request)] - sums_[static_cast<std::size_t>(first / 2)]);
    });
    return sum;
  }

  /// The ends of its stretches, as far as it may hit.
  std::vector<std::int32_t> lengths(std::int64_t request) const {
    std::vector<std::int32_t> ends;
    const auto most = static_cast<std::int32_t>(paths_.most_units(request));
    for (const ReuseStretch& stretch : paths_.stretches(request)) {
      const std::int32_t end = std::min(stretch.end_unit, most);
      if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
    }
    return ends;
  }

  void offer(std::int64_t request, std::vector<Offer>& offers) const {
    for (const std::int32_t units : lengths(request)) {
      const double price = cost(request, units);
      const auto tokens = static_cast<double>(paths_.unit_tokens() * units);
      offers.push_back({price > 0 ? tokens / price : 1e300, static_cast<std::int32_t>(request), units});
    }
  }

  void put(std::int64_t request, std::int32_t units, std::int64_t sign) {
    if (units == 0) return;
    for_each_stretch(request, units, [&](Kept kept, std::int64_t begin, std::int64_t end, std::int64_t bytes) {
      (kept == Kept::state && states_ ? *states_ : tokens_).take(begin, end, sign * bytes);
    });
  }

  bool change(std::int64_t request, std::int32_t units) {
    const std::int32_t before = units_of(request);
    put(request, before, -1);
    put(request, units, 1);
    const std::int64_t first = 2 * std::int64_t(deepest_last(request, units));
    if (tokens_.least(first, 2 * request) >= 0 && (!states_ || states_->least(first, 2 * request) >= 0)) {
      schedule_.tokens += paths_.unit_tokens() * (units - before);
      units_of(request) = units;
      return true;
    }
    put(request, units, -1);
    put(request, before, 1);
    return false;
  }

  /// The request from which on the last of these units is kept; none before it is kept for longer.
  std::int32_t deepest_last(std::int64_t request, std::int32_t units) const {
    for (const ReuseStretch& stretch : paths_.stretches(request))
      if (units <= stretch.end_unit) return stretch.last;
    throw std::logic_error("a hit lies within the stretches");
  }

  void accept(const Offer& offer) {
    if (offer.units > units_of(offer.request)) change(offer.request, offer.units);
  }

  /// As much more of one request as still fits, by bisection within each of its stretches.
  void fill(std::int64_t request) {
    for (const std::int32_t end : lengths(request)) {
      if (end <= units_of(request) || change(request, end)) continue;
      std::int32_t low = units_of(request), high = end;
      while (high - low > 1) {
        const std::int32_t middle = low + (high - low) / 2;
        if (change(request, middle)) low = middle;
        else high = middle;
      }
    }
  }

  const ReusePaths& paths_;
  const CacheSizes& sizes_;
  std::vector<double> sums_;
  Room tokens_;  // and states, where they share it
  std::optional<Room> states_;
  OfflineSchedule schedule_;
};

}  // namespace

OfflineSchedule offline_schedule(const ReusePaths& paths, const CacheSizes& sizes, const std::vector<double>& price,
                                 const ScheduleMemory& memory,
                                 const std::function<RunningBytes(std::int64_t request)>& running) {
  if (paths.num_requests() == 0) return {};
  const bool shared = memory.state_bytes == 0;
  std::vector<std::int64_t> tokens, states;
  const auto add = [](std::vector<std::int64_t>& room, std::int64_t bytes, std::int64_t own) {
    room.push_back(std::max<std::int64_t>(0, bytes - own));
    room.push_back(bytes);
  };
  for (std::int64_t request = 0; request < paths.num_requests(); ++request) {
    const RunningBytes own = running(request);
    add(tokens, memory.token_bytes, shared ? own.tokens + own.states : own.tokens);
    if (!shared) add(states, memory.state_bytes, own.states);
  }
  return ScheduleMaker(paths, sizes, price, Room(tokens), shared ? std::nullopt : std::optional<Room>(states)).run();
}

}  // namespace hybridkv
