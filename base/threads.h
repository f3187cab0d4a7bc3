#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace hybridkv {

/// Threads that are joined when they go: std::jthread without its stop token, which not every C++20 library has.
class Threads {
 public:
  Threads() = default;
  Threads(Threads&&) = default;
  Threads& operator=(Threads&&) = delete;
  ~Threads() { join(); }

  std::size_t size() const { return threads_.size(); }
  bool empty() const { return threads_.empty(); }
  /// Runs work(number) on one more. Throws std::system_error where the system gives none.
  void start(const std::function<void(std::size_t thread)>& work, std::size_t number) {
    threads_.emplace_back(work, number);
  }
  /// Waits for all of them; none are left.
  void join();

 private:
  std::vector<std::thread> threads_;
};

/// Starts up to `count` threads, which run work(1), work(2), …; the caller does the share of thread 0. Where the system
/// gives no more threads (a limit, memory, a browser) there are fewer, perhaps none: whoever calls divides the work
/// while it runs. The threads are joined when the result goes.
Threads start_threads(std::size_t count, const std::function<void(std::size_t thread)>& work);

}  // namespace hybridkv
