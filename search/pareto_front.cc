#include "search/pareto_front.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace hybridkv {

namespace {

auto key(const Objectives& point) {
  return std::tuple(point.reprefilled_tokens, point.bytes_per_request, -point.concurrency);
}

}  // namespace

bool dominates(const Objectives& a, const Objectives& b) {
  return a.reprefilled_tokens <= b.reprefilled_tokens && a.bytes_per_request <= b.bytes_per_request &&
         a.concurrency >= b.concurrency && a != b;
}

std::vector<std::size_t> pareto_front(std::span<const Objectives> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(points[a]) < key(points[b]); });
  // In this order a point can be dominated only by one before it, and then by one of the front.
  std::vector<std::size_t> front;
  for (const std::size_t at : order) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t kept) {
      return points[kept] == points[at] || dominates(points[kept], points[at]);
    });
    if (!beaten) front.push_back(at);
  }
  std::sort(front.begin(), front.end());
  return front;
}

}  // namespace hybridkv
