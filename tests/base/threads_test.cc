#include "base/threads.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <vector>

#include "base/parallel.h"

using namespace hybridkv;

namespace {

/// While it lives, threads ask for more stack than there are addresses, so that none can start.
struct NoThreads {
  std::size_t before = 0;
  NoThreads() {
    ::pthread_attr_t attributes;
    REQUIRE(::pthread_getattr_default_np(&attributes) == 0);
    ::pthread_attr_getstacksize(&attributes, &before);
    set(std::size_t{1} << 50);
  }
  ~NoThreads() { set(before); }
  static void set(std::size_t bytes) {
    ::pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, bytes);
    CHECK(::pthread_setattr_default_np(&attributes) == 0);
    ::pthread_attr_destroy(&attributes);
  }
};

}  // namespace

TEST_CASE("edge: threads have numbers from 1") {
  std::vector<std::atomic<int>> ran(4);
  start_threads(3, [&](std::size_t thread) { ++ran[thread]; }).join();
  CHECK(ran[0] == 0);
  for (std::size_t thread = 1; thread < 4; ++thread) CHECK(ran[thread] == 1);
  CHECK(start_threads(0, [](std::size_t) {}).empty());
}

TEST_CASE("fault: where the system gives no threads, the caller does all the work") {
  const NoThreads limit;
  CHECK(start_threads(3, [](std::size_t) {}).empty());
  std::vector<int> done(100);
  parallel_for(100, 8, [&](std::size_t i, std::size_t thread) {
    CHECK(thread == 0);
    ++done[i];
  });
  CHECK(done == std::vector<int>(100, 1));
  parallel_for(0, [](std::size_t) { FAIL("there is nothing to do"); });
}
