#include "simulator/sweep.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/threads.h"
#include "simulator/loss_ledger.h"
#include "simulator/token_exact_bound.h"

namespace hybridkv {

namespace {

using Clock = std::chrono::steady_clock;

/// Something that takes the batches of a trace in order.
struct Consumer {
  std::function<void(const TraceBatch&)> consume;
  std::function<void()> finish;
  std::size_t next = 0;  // number of the batch it wants
  bool busy = false;
  bool finished = false;
};

/// Hands batches to consumers: every worker takes the consumer furthest behind, or decodes the next batch.
class Pipeline {
 public:
  Pipeline(TraceSource& trace, std::vector<Consumer> consumers,
           std::function<void(const SweepProgress&)> on_progress)
      : trace_(trace), consumers_(std::move(consumers)), on_progress_(std::move(on_progress)) {}

  void run(std::int64_t threads) {
    {
      const auto others = start_threads(static_cast<std::size_t>(threads - 1), [this](std::size_t) { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr std::size_t most_batches = 6;  // decoded ahead of the slowest consumer

  void work() {
    std::unique_lock lock(mutex_);
    while (!error_ && unfinished_consumer()) {
      try {
        if (!decoding_ && !at_end_ && batches_.size() < most_batches) {
          decode(lock);
        } else if (Consumer* const ready = furthest_behind()) {
          serve(*ready, lock);
        } else {
          changed_.wait(lock);
        }
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        if (!error_) error_ = std::current_exception();
      }
    }
    changed_.notify_all();
  }

  bool unfinished_consumer() const {
    return std::any_of(consumers_.begin(), consumers_.end(), [](const Consumer& c) { return !c.finished; });
  }

  Consumer* furthest_behind() {
    Consumer* best = nullptr;
    for (Consumer& consumer : consumers_) {
      if (consumer.busy || consumer.finished) continue;
      if (consumer.next == first_batch_ + batches_.size() && !at_end_) continue;
      if (best == nullptr || consumer.next < best->next) best = &consumer;
    }
    return best;
  }

  void decode(std::unique_lock<std::mutex>& lock) {
    decoding_ = true;
    auto batch = spare_.empty() ? std::make_unique<TraceBatch>() : std::move(spare_.back());
    if (!spare_.empty()) spare_.pop_back();
    lock.unlock();
    const bool more = trace_.next(*batch);
    const TraceProgress read = trace_.progress();
    lock.lock();
    decoding_ = false;
    if (more) {
      batches_.push_back({std::move(batch), read});
    } else {
      at_end_ = true;
    }
    changed_.notify_all();
  }

  void serve(Consumer& consumer, std::unique_lock<std::mutex>& lock) {
    consumer.busy = true;
    if (consumer.next == first_batch_ + batches_.size()) {
      lock.unlock();
      consumer.finish();
      lock.lock();
      consumer.finished = true;
    } else {
      const TraceBatch& batch = *batches_[consumer.next - first_batch_].batch;
      lock.unlock();
      consumer.consume(batch);
      lock.lock();
      ++consumer.next;
      drop_consumed();
    }
    consumer.busy = false;
    changed_.notify_all();
  }

  void drop_consumed() {
    const std::size_t slowest =
        std::min_element(consumers_.begin(), consumers_.end(),
                         [](const Consumer& a, const Consumer& b) { return a.next < b.next; })->next;
    for (; first_batch_ < slowest; ++first_batch_) {
      report(batches_.front().read);
      spare_.push_back(std::move(batches_.front().batch));
      batches_.pop_front();
    }
  }

  void report(const TraceProgress& read) {
    const Clock::time_point now = Clock::now();
    if (!on_progress_ || now - last_report_ < std::chrono::milliseconds(500)) return;
    last_report_ = now;
    on_progress_({read.requests, read.fraction, std::chrono::duration<double>(now - started_).count()});
  }

  struct Decoded {
    std::unique_ptr<TraceBatch> batch;
    TraceProgress read;  // the trace up to the end of this batch
  };

  TraceSource& trace_;
  std::vector<Consumer> consumers_;
  std::function<void(const SweepProgress&)> on_progress_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point last_report_ = started_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Decoded> batches_;
  std::vector<std::unique_ptr<TraceBatch>> spare_;
  std::size_t first_batch_ = 0;
  bool decoding_ = false;
  bool at_end_ = false;
  std::exception_ptr error_;
};

Consumer simulate(const CacheGeometry& geometry, const SimulationSpec& spec, bool with_records,
                  SimulationStats& result) {
  auto simulation = std::make_shared<Simulation>(
      geometry, spec.driver, with_records ? spec.on_record : std::function<void(const RequestRecord&)>());
  if (with_records && spec.counts_copies) simulation->count_copies();
  return {.consume = [simulation](const TraceBatch& batch) { simulation->consume(batch); },
          .finish = [simulation, &result] { result = simulation->finish(); }};
}

/// The same with a ledger that looks on.
Consumer simulate_with_losses(const SimulationSpec& spec, SimulationStats& result, LossStats& losses) {
  struct Watched {
    explicit Watched(const SimulationSpec& spec)
        : ledger(spec.geometry, spec.on_loss),
          simulation(spec.geometry, spec.driver, [this, on_record = spec.on_record](const RequestRecord& record) {
            if (on_record) on_record(record);
            ledger.end(record);
          }) {
      ledger.watch(simulation);
      if (spec.counts_copies) simulation.count_copies();
    }
    LossLedger ledger;
    Simulation simulation;
  };
  auto watched = std::make_shared<Watched>(spec);
  return {.consume = [watched](const TraceBatch& batch) { watched->simulation.consume(batch); },
          .finish =
              [watched, &result, &losses] {
                result = watched->simulation.finish();
                losses = watched->ledger.stats();
              }};
}

/// One bound for all caches that take the same prompts.
void add_token_exact(std::vector<Consumer>& consumers, const SweepSpec& spec, SweepResult& result) {
  std::map<std::optional<std::int64_t>, std::vector<std::size_t>> of_length;
  for (std::size_t i = 0; i < spec.simulations.size(); ++i)
    of_length[spec.simulations[i].geometry.scheduler.max_model_len].push_back(i);
  for (const auto& [length, caches] : of_length) {
    const auto exact = std::make_shared<TokenExactBound>(length);
    consumers.push_back({.consume = [exact](const TraceBatch& batch) { exact->consume(batch); },
                         .finish = [exact, &result, positions = caches] {
                           for (const std::size_t at : positions)
                             result.token_exact_hit_tokens[at] = exact->hit_tokens();
                         }});
  }
}

}  // namespace

SweepResult run_sweep(TraceSource& trace, const SweepSpec& spec) {
  if (spec.simulations.empty()) throw SpecError("sweep.simulations", "there is no geometry to simulate");
  if (spec.threads < 0) throw SpecError("sweep.threads", "must be 0 (all cores) or more");
  const std::size_t count = spec.simulations.size();
  SweepResult result;
  result.stats.resize(count);
  if (spec.upper_bounds) result.unlimited.resize(count);
  if (spec.upper_bounds) result.token_exact_hit_tokens.resize(count);
  if (spec.losses) result.losses.resize(count);
  std::vector<Consumer> consumers;
  for (std::size_t i = 0; i < count; ++i) {
    const SimulationSpec& one = spec.simulations[i];
    consumers.push_back(spec.losses ? simulate_with_losses(one, result.stats[i], result.losses[i])
                                    : simulate(one.geometry, one, true, result.stats[i]));
    if (!spec.upper_bounds) continue;
    CacheGeometry unlimited = one.geometry;
    unlimited.unlimited_pool = true;
    consumers.push_back(simulate(unlimited, one, false, result.unlimited[i]));
  }
  if (spec.upper_bounds) add_token_exact(consumers, spec, result);
  consumers.push_back({.consume =
                           [&result](const TraceBatch& batch) {
                             result.requests += std::ssize(batch.requests);
                             for (const TraceRequest& request : batch.requests)
                               result.prompt_tokens += request.input_length;
                           },
                       .finish = [] {}});
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t wanted = spec.threads == 0 ? cores : spec.threads;
  const std::int64_t threads = std::min<std::int64_t>(wanted, std::ssize(consumers) + 1);
  Pipeline(trace, std::move(consumers), spec.on_progress).run(threads);
  return result;
}

}  // namespace hybridkv
