#include "simulator/replay.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/threads.h"

namespace hybridkv {

namespace {

using Clock = std::chrono::steady_clock;

/// A replay on its way through the trace.
struct Consumer {
  Replay* replay = nullptr;
  std::size_t next = 0;  // number of the batch it wants
  bool busy = false;
  bool finished = false;
};

/// Hands batches to consumers: every worker takes the consumer furthest behind, or decodes the next batch.
class Pipeline {
 public:
  Pipeline(TraceSource& trace, const std::vector<std::unique_ptr<Replay>>& replays,
           const std::function<void(const SweepProgress&)>& on_progress)
      : trace_(trace), on_progress_(on_progress) {
    for (const auto& replay : replays) consumers_.push_back({.replay = replay.get()});
  }

  void run(std::int64_t threads) {
    {
      const auto others = start_threads(static_cast<std::size_t>(threads - 1), [this](std::size_t) { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
    last_report_ = {};
    report(trace_.progress());
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
      consumer.replay->finish();
      lock.lock();
      consumer.finished = true;
    } else {
      const TraceBatch& batch = *batches_[consumer.next - first_batch_].batch;
      lock.unlock();
      consumer.replay->consume(batch);
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
  const std::function<void(const SweepProgress&)>& on_progress_;
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

}  // namespace

void run_replays(TraceSource& trace, const std::vector<std::unique_ptr<Replay>>& replays, std::int64_t threads,
                 const std::function<void(const SweepProgress&)>& on_progress) {
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t wanted = threads == 0 ? cores : threads;
  Pipeline(trace, replays, on_progress).run(std::min<std::int64_t>(wanted, std::ssize(replays) + 1));
}

}  // namespace hybridkv
