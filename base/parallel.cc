#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace hybridkv {

std::size_t num_threads(std::size_t threads) {
  return threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for(count, 0, [&](std::size_t i, std::size_t) { body(i); });
}

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t thread)>& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i, thread);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  const std::size_t wanted = std::clamp<std::size_t>(count, 1, num_threads(threads));
  Threads others = start_threads(wanted - 1, work);
  work(0);
  others.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hybridkv
