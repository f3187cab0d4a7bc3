// Times of requests: what is within limits, and when more come than are served.
#include "clock/served_times.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

RequestTimes request(double arrival, double queued, double first, double each, std::int64_t generated = 11) {
  return {.arrival = arrival,
          .admitted = arrival + queued,
          .first_token = arrival + first,
          .end = arrival + first + each * static_cast<double>(generated - 1),
          .prompt = 100,
          .found = 40,
          .generated = generated};
}

}  // namespace

TEST_CASE("golden: a request is good that keeps both limits") {
  ServedTimes times({.first_token = 1, .output_token = 0.05});
  times.add(request(0, 0, 0.5, 0.01));
  times.add(request(1, 0, 1.5, 0.01));
  times.add(request(2, 0, 0.5, 0.06));
  times.add(request(3, 0, 0.5, 0.05, 1));
  CHECK(times.requests() == 4);
  CHECK(times.good_requests() == 2);
  CHECK(times.generated_tokens() == 34);
  CHECK(times.prompt_tokens() - times.found_tokens() == 240);
  CHECK(times.output_token.count() == 3);
  CHECK(times.span_seconds() == doctest::Approx(3.5));
}

TEST_CASE("golden: a queue that grows while requests come is overload, a burst that is worked off is none") {
  ServedTimes growing, burst, calm;
  for (int i = 0; i < 1000; ++i) {
    growing.add(request(i, 0.01 * i, 1 + 0.01 * i, 0.01));
    burst.add(request(i, i > 300 && i < 500 ? 20 : 0.1, 25, 0.01));
    calm.add(request(i, 0.001 * i, 2, 0.01));
  }
  CHECK(growing.overloaded());
  CHECK(growing.late_queueing() > 7);
  CHECK(growing.early_queueing() < 2);
  CHECK_FALSE(burst.overloaded());
  CHECK_FALSE(calm.overloaded());
}
