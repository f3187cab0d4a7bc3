#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/threads.h"

namespace hybridkv {

/// Work in numbered pieces on several threads, whose results are taken in the order of their numbers as they come.
template <class Result>
struct OrderedWork {
  std::int64_t num_pieces = 0;
  std::int64_t threads = 1;
  /// Called once on every thread; what it returns makes the result of a piece, on that thread alone.
  std::function<std::function<Result(std::int64_t piece)>()> make_worker;
  /// Takes the results, piece 0 first, from one thread at a time.
  std::function<void(Result result)> take;
};

namespace ordered_work_detail {

template <class Result>
class Run {
 public:
  explicit Run(const OrderedWork<Result>& work) : work_(work), most_ahead_(4 * work.threads) {}

  void run() {
    {
      const auto others =
          start_threads(static_cast<std::size_t>(work_.threads - 1), [this](std::size_t) { run_thread(); });
      run_thread();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run_thread() {
    std::unique_lock lock(mutex_, std::defer_lock);
    try {
      const auto make_result = work_.make_worker();
      lock.lock();
      while (!failure_ && next_ < work_.num_pieces) {
        // Whoever is far ahead waits, so that results do not pile up.
        if (next_ >= taken_ + most_ahead_) {
          changed_.wait(lock);
          continue;
        }
        const std::int64_t piece = next_++;
        lock.unlock();
        Result result = make_result(piece);
        lock.lock();
        made_.emplace(piece, std::move(result));
        take_made(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void take_made(std::unique_lock<std::mutex>& lock) {
    if (taking_) return;  // who takes now also takes what has just been made
    taking_ = true;
    while (!failure_ && !made_.empty() && made_.begin()->first == taken_) {
      auto result = made_.extract(made_.begin());
      lock.unlock();
      work_.take(std::move(result.mapped()));
      lock.lock();
      ++taken_;
      changed_.notify_all();
    }
    taking_ = false;
  }

  const OrderedWork<Result>& work_;
  const std::int64_t most_ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Result> made_;
  std::int64_t next_ = 0;
  std::int64_t taken_ = 0;
  bool taking_ = false;
  std::exception_ptr failure_;
};

}  // namespace ordered_work_detail

/// Does the work; returns when the last result is taken. The first exception of any thread ends it and is thrown again
/// here. Pieces must not depend on each other.
template <class Result>
void do_in_order(const OrderedWork<Result>& work) {
  ordered_work_detail::Run<Result>(work).run();
}

}  // namespace hybridkv
