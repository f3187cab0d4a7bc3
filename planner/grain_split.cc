#include "planner/grain_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/bisect.h"
#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t smallest_grain = std::int64_t(2) << 20;

/// The engine's ratios are of 32 bits. Half a grain goes to the even number of them, as it rounds.
std::int64_t part_of(std::int64_t grains, float part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<float>(grains) * part));
}

/// The weights as parts of their sum.
std::vector<float> ratios_of(std::span<const GroupOfPools> groups) {
  double sum = 0;
  for (const GroupOfPools& group : groups) sum += group.weight;
  std::vector<float> ratios;
  for (const GroupOfPools& group : groups)
    ratios.push_back(static_cast<float>(static_cast<double>(static_cast<float>(group.weight)) / sum));
  return ratios;
}

/// Ids of the open groups, the lightest first; the last one gets what is left.
void fill_by_weight(std::vector<std::int64_t>& ids, std::span<const std::size_t> open, std::int64_t grains,
                    std::span<const float> ratios, std::span<const GroupOfPools> groups, std::int64_t grain_bytes) {
  for (std::size_t i = 0; i < open.size(); ++i) {
    const GroupOfPools& group = groups[open[i]];
    float of_open = 0;  // of those that have nothing yet
    for (std::size_t other = i; other < open.size(); ++other) of_open += ratios[open[other]];
    const bool is_last = i + 1 == open.size();
    const std::int64_t part = is_last ? grains : part_of(grains, ratios[open[i]] / of_open);
    ids[open[i]] = ids_in(part, group.id_bytes, grain_bytes);
    grains -= grains_of(ids[open[i]], group.id_bytes, grain_bytes);
  }
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

std::int64_t grains_of_share(std::int64_t grains, std::span<const GroupOfPools> groups, std::size_t group) {
  return part_of(grains, ratios_of(groups)[group]);
}

std::vector<std::int64_t> fill_groups(std::int64_t grains, std::span<const GroupOfPools> groups,
                                      std::int64_t grain_bytes) {
  const std::vector<float> ratios = ratios_of(groups);
  std::vector<std::int64_t> ids(groups.size(), 0);
  std::vector<std::size_t> open(groups.size());
  std::iota(open.begin(), open.end(), std::size_t(0));
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return ratios[a] < ratios[b]; });
  while (!open.empty()) {
    fill_by_weight(ids, open, grains, ratios, groups, grain_bytes);
    const auto is_short = [&](std::size_t i) { return ids[i] <= groups[i].least_ids; };
    const auto enough = std::stable_partition(open.begin(), open.end(), is_short);
    if (enough == open.begin()) break;
    for (auto i = open.begin(); i != enough; ++i) {
      const std::int64_t least = grains_of(groups[*i].least_ids, groups[*i].id_bytes, grain_bytes);
      ids[*i] = ids_in(least, groups[*i].id_bytes, grain_bytes);
      grains -= least;
    }
    open.erase(open.begin(), enough);
  }
  return ids;
}

}  // namespace hybridkv
