#pragma once

#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "simulator/losses/token_exact_bound.h"
#include "simulator/sweep.h"
#include "tests/simulator/blocks/workload.h"

namespace hybridkv::testing {

/// A run whose losses were booked.
struct LossRun {
  struct Row {
    RequestRecord record;
    ReuseLoss loss;
  };
  SimulationStats simulation;
  LossStats stats;
  std::map<std::int64_t, Row> losses;  ///< by index
  std::vector<RequestRecord> records;
};

/// Hands out one batch.
class BatchTrace : public TraceSource {
 public:
  explicit BatchTrace(const TraceBatch& batch) : batch_(batch) {}
  bool next(TraceBatch& batch) override {
    batch = batch_;
    return !std::exchange(done_, true);
  }
  TraceProgress progress() const override { return {}; }

 private:
  TraceBatch batch_;
  bool done_ = false;
};

/// Hands on what another source gives, and keeps it.
class Recorded : public TraceSource {
 public:
  Recorded(TraceSource& source, TraceBatch* all) : source_(source), all_(all) {}
  bool next(TraceBatch& batch) override {
    if (!source_.next(batch)) return false;
    for (TraceRequest request : all_ ? batch.requests : std::vector<TraceRequest>{}) {
      request.first_run += std::ssize(all_->runs);
      all_->requests.push_back(request);
    }
    if (all_) all_->runs.insert(all_->runs.end(), batch.runs.begin(), batch.runs.end());
    return true;
  }
  TraceProgress progress() const override { return source_.progress(); }

 private:
  TraceSource& source_;
  TraceBatch* all_;
};

/// `all`, where given, gets the batches that were read, as one.
inline LossRun run_with_losses(const CacheGeometry& geometry, const DriverSpec& driver, TraceSource& trace,
                               TraceBatch* all = nullptr) {
  LossRun run;
  SweepSpec sweep{.losses = true, .threads = 1};
  sweep.simulations.push_back({.cache = geometry, .driver = driver});
  sweep.simulations.back().on_record = [&](const RecordView& view, const ReuseLoss* loss) {
    const RequestRecord& record = *std::get<const RequestRecord*>(view);
    run.records.push_back(record);
    run.losses[record.index] = {record, *loss};
  };
  Recorded recorded(trace, all);
  SweepResult result = run_sweep(recorded, sweep);
  run.simulation = std::move(result.caches.front().blocks());
  run.stats = std::move(*result.caches.front().losses);
  return run;
}

inline LossRun run_with_losses(const CacheGeometry& geometry, const DriverSpec& driver, const TraceBatch& batch) {
  BatchTrace trace(batch);
  return run_with_losses(geometry, driver, trace);
}

/// Tokens shared with earlier prompts, request by request, by the program's other count of them.
inline std::vector<std::int64_t> token_exact(const TraceBatch& batch) {
  TokenExactBound exact;
  std::vector<std::int64_t> tokens;
  for (const TraceRequest& request : batch.requests) tokens.push_back(exact.match(batch.prompt(request)));
  return tokens;
}

/// Every request's tokens add up, and all of them to the stats.
inline void check_sums(const LossRun& result, const TraceBatch& batch) {
  const std::vector<std::int64_t> exact = token_exact(batch);
  ReuseLoss sum;
  REQUIRE(result.losses.size() == batch.requests.size());
  for (const auto& [index, row] : result.losses) {
    REQUIRE(row.loss.token_exact_tokens == exact[static_cast<std::size_t>(index)]);
    REQUIRE(row.loss.found_tokens == (row.record.status == RequestStatus::ok ? row.record.hit_tokens : 0));
    REQUIRE(row.loss.token_exact_tokens == row.loss.found_tokens + row.loss.total());
    for (const std::int64_t lost : row.loss.lost) REQUIRE(lost >= 0);
    sum += row.loss;
  }
  REQUIRE(sum == result.stats.total);
  REQUIRE(sum.found_tokens == result.simulation.hit_tokens);
  ReuseLoss parts;
  for (const LossSeries::Part& part : result.stats.series.parts()) parts += part.loss;
  REQUIRE(parts == sum);
}

}  // namespace hybridkv::testing
