#include "search/pick.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/error.h"

namespace hybridkv {

namespace {

using Positions = std::vector<std::size_t>;

/// Keeps those within `tolerance` of the smallest value.
template <class Value>
void keep_smallest(Positions& kept, double tolerance, Value value) {
  double smallest = value(kept.front());
  for (const std::size_t at : kept) smallest = std::min(smallest, value(at));
  std::erase_if(kept, [&](std::size_t at) { return value(at) > smallest + tolerance; });
}

}  // namespace

std::size_t pick_of(std::span<const PickPoint> points, double least_concurrency, std::int64_t prompt_tokens,
                    const PickRule& rule) {
  expects(!points.empty(), "at least one point to pick");
  const auto concurrency = [&](std::size_t at) { return points[at].objectives.concurrency; };
  const auto reprefilled = [&](std::size_t at) {
    return static_cast<double>(points[at].objectives.reprefilled_tokens);
  };
  const auto bytes = [&](std::size_t at) { return static_cast<double>(points[at].objectives.bytes_per_request); };
  Positions kept(points.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  double most = concurrency(0);
  for (const std::size_t at : kept) most = std::max(most, concurrency(at));
  const double least = std::min(least_concurrency, most);
  std::erase_if(kept, [&](std::size_t at) { return concurrency(at) < least; });
  keep_smallest(kept, rule.alike * static_cast<double>(prompt_tokens), reprefilled);
  double fewest_bytes = bytes(kept.front());
  for (const std::size_t at : kept) fewest_bytes = std::min(fewest_bytes, bytes(at));
  keep_smallest(kept, rule.alike * fewest_bytes, bytes);
  return *std::min_element(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t at) {
      const Objectives& objectives = points[at].objectives;
      return std::tuple(points[at].settings_changed, objectives.bytes_per_request, objectives.reprefilled_tokens, at);
    };
    return key(a) < key(b);
  });
}

}  // namespace hybridkv
