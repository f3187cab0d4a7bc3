#include "planner/grain_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/bisect.h"
#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

constexpr std::int64_t smallest_grain = std::int64_t(2) << 20;

/// Half a grain goes to the even number of them, as the engine rounds.
std::int64_t part_of(std::int64_t grains, double part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(grains) * part));
}

}  // namespace

std::int64_t grain_of(std::int64_t memory_bytes) {
  constexpr double grains_of_a_pool = 512;
  const double doublings =
      std::log(static_cast<double>(memory_bytes) / (static_cast<double>(smallest_grain) * grains_of_a_pool)) /
      std::log(2.0);
  return smallest_grain << static_cast<std::int64_t>(std::clamp(doublings, 0.0, 4.0));
}

std::int64_t grains_of(std::int64_t ids, std::span<const std::int64_t> id_bytes, std::int64_t grain_bytes) {
  Checked grains = 0;
  for (const std::int64_t bytes : id_bytes)
    grains += ceil_div(std::int64_t(Checked(ids) * bytes), grain_bytes);
  return grains;
}

std::int64_t ids_in(std::int64_t grains, std::span<const std::int64_t> id_bytes, std::int64_t grain_bytes) {
  const auto fit = [&](std::int64_t ids) { return grains_of(ids, id_bytes, grain_bytes) <= grains; };
  if (!fit(1)) return 0;
  const std::int64_t smallest = *std::min_element(id_bytes.begin(), id_bytes.end());
  return last_that(1, std::int64_t(Checked(grains) * grain_bytes) / smallest + 1, fit);
}

std::vector<std::int64_t> fill_groups(std::int64_t grains, std::span<const GroupOfPools> groups,
                                      std::int64_t grain_bytes) {
  std::vector<std::int64_t> ids(groups.size(), 0);
  std::vector<std::size_t> open(groups.size());
  std::iota(open.begin(), open.end(), std::size_t(0));
  std::stable_sort(open.begin(), open.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].weight < groups[b].weight; });
  std::int64_t left = grains;
  while (!open.empty()) {
    std::int64_t budget = left;
    for (auto i = open.begin(); i != open.end(); ++i) {
      const GroupOfPools& group = groups[*i];
      double weights = 0;  // of those that have nothing yet
      for (auto other = i; other != open.end(); ++other) weights += groups[*other].weight;
      ids[*i] = ids_in(part_of(budget, group.weight / weights), group.id_bytes, grain_bytes);
      budget -= grains_of(ids[*i], group.id_bytes, grain_bytes);
    }
    const auto is_short = [&](std::size_t i) { return ids[i] <= groups[i].least_ids; };
    const auto enough = std::stable_partition(open.begin(), open.end(), is_short);
    if (enough == open.begin()) break;
    for (auto i = open.begin(); i != enough; ++i) {
      const std::int64_t least = grains_of(groups[*i].least_ids, groups[*i].id_bytes, grain_bytes);
      ids[*i] = ids_in(least, groups[*i].id_bytes, grain_bytes);
      left -= grains_of(ids[*i], groups[*i].id_bytes, grain_bytes);
    }
    if (left < 0 || (left == 0 && enough != open.end())) {
      Checked needed = 0;
      for (const GroupOfPools& group : groups) needed += grains_of(group.least_ids, group.id_bytes, grain_bytes);
      throw SpecError("engine.memory",
                      fmt::format("{} grains of {} bytes are too few for the slots that every pool group has at least, "
                                  "which take {}; give more memory, or a smaller engine.max_running_requests",
                                  grains, grain_bytes, std::int64_t(needed)));
    }
    open.erase(open.begin(), enough);
  }
  return ids;
}

}  // namespace hybridkv
