#include "measure/best_rate.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "base/threads.h"

namespace hybridkv {

namespace {

/// Waits awake: a thread that went to sleep, or let others run at once, would not be there when a round starts.
void wait_until(const auto& is_so) {
  constexpr int looks = 20'000;  // some tens of microseconds
  for (int look = 0; !is_so(); ++look)
    if (look >= looks) std::this_thread::yield();
}

/// Of one thread, on a cache line of its own.
struct alignas(64) OwnRate {
  double rate = 0;
};

}  // namespace

double best_rate(std::int64_t threads, int rounds,
                 const std::function<double(std::int64_t thread, std::int64_t threads)>& work) {
  constexpr int no_more = -1;
  std::atomic<int> round{0};
  std::atomic<std::int64_t> done{0}, all{0};
  std::vector<OwnRate> rates(static_cast<std::size_t>(threads));
  const auto measure = [&](std::size_t thread) {
    const auto start = std::chrono::steady_clock::now();
    const double amount = work(static_cast<std::int64_t>(thread), all.load(std::memory_order_relaxed));
    rates[thread].rate = amount / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Threads others = start_threads(static_cast<std::size_t>(threads - 1), [&](std::size_t thread) {
    for (int last = 0, next = 0;; last = next) {
      wait_until([&] { return (next = round.load(std::memory_order_acquire)) != last; });
      if (next == no_more) return;
      measure(thread);
      done.fetch_add(1, std::memory_order_release);
    }
  });
  const auto helpers = static_cast<std::int64_t>(others.size());
  all.store(helpers + 1, std::memory_order_relaxed);
  double best = 0;
  for (int i = 1; i <= rounds; ++i) {
    done.store(0, std::memory_order_relaxed);
    round.store(i, std::memory_order_release);
    measure(0);
    wait_until([&] { return done.load(std::memory_order_acquire) == helpers; });
    double sum = 0;
    for (const OwnRate& own : rates) sum += own.rate;
    best = std::max(best, sum);
  }
  round.store(no_more, std::memory_order_release);
  others.join();
  const auto cores = static_cast<double>(num_threads(0)), took_part = static_cast<double>(helpers + 1);
  return best * std::min(1.0, cores / took_part);
}

}  // namespace hybridkv
