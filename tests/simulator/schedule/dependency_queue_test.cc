#include "simulator/schedule/dependency_queue.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

namespace {

/// When a request may start that waits for request 0 with a delay of two seconds: after it was submitted at 10, and
/// again after it ended at 20.
std::vector<std::optional<double>> ready_of(bool at_end) {
  DependencyQueue queue;
  queue.announce({.index = 0, .num_dependents = 1}, {}, {});
  const std::vector<TraceDependency> waits{{.request = 0, .at_end = at_end, .delay_seconds = 2}};
  CHECK(queue.announce({.index = 1}, {}, waits));
  CHECK_FALSE(queue.next_ready().has_value());
  queue.submitted(0, 10);
  std::vector<std::optional<double>> ready{queue.next_ready()};
  queue.ended(0, 20);
  ready.push_back(queue.next_ready());
  CHECK(queue.take_ready().request.index == 1);
  CHECK(queue.size() == 0);
  return ready;
}

}  // namespace

TEST_CASE("edge: who waits for an end starts behind it, who waits for a submission behind that") {
  CHECK(ready_of(true) == std::vector<std::optional<double>>{std::nullopt, 22});
  CHECK(ready_of(false) == std::vector<std::optional<double>>{12, 12});
}
