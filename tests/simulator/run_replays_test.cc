#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "simulator/replay.h"
#include "simulator/trace/synthetic_trace.h"
#include "simulator/trace/trace_totals.h"

using namespace hybridkv;

namespace {

/// Notes the requests that it is given; ends with an error at one of them.
class Noting final : public Replay {
 public:
  explicit Noting(std::int64_t fails_at = -1) : fails_at_(fails_at) {}
  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& request : batch.requests) {
      if (request.index == fails_at_) throw std::runtime_error("no more");
      seen.push_back(request.index);
    }
  }
  void finish() override { finished += 1; }

  std::vector<std::int64_t> seen;
  int finished = 0;

 private:
  std::int64_t fails_at_;
};

std::unique_ptr<TraceSource> requests(std::int64_t count) {
  return std::make_unique<SyntheticTrace>(SyntheticTraceSpec{.num_requests = count});
}

}  // namespace

TEST_CASE("law: every replay gets every request once and in order, whatever the number of threads") {
  std::vector<std::int64_t> in_order(5000);
  std::iota(in_order.begin(), in_order.end(), 0);
  for (const std::int64_t threads : {1, 2, 5}) {
    CAPTURE(threads);
    std::vector<std::unique_ptr<Replay>> replays;
    std::vector<Noting*> noting;
    for (int i = 0; i < 3; ++i) {
      auto one = std::make_unique<Noting>();
      noting.push_back(one.get());
      replays.push_back(std::move(one));
    }
    const TraceTotals& totals = add_totals(replays);
    SweepProgress last;
    run_replays(*requests(5000), replays, threads, [&](const SweepProgress& at) { last = at; });
    CHECK(totals.requests() == 5000);
    CHECK(last.requests == 5000);
    for (const Noting* one : noting) {
      CHECK(one->seen == in_order);
      CHECK(one->finished == 1);
    }
  }
}

TEST_CASE("fault: what one replay throws ends all of them") {
  std::vector<std::unique_ptr<Replay>> replays;
  replays.push_back(std::make_unique<Noting>());
  replays.push_back(std::make_unique<Noting>(3000));
  CHECK_THROWS_WITH_AS(run_replays(*requests(5000), replays), "no more", std::runtime_error);
}
