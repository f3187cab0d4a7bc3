#include "base/threads.h"

#include <new>
#include <system_error>

namespace hybridkv {

void Threads::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Threads start_threads(std::size_t count, const std::function<void(std::size_t thread)>& work) {
  Threads threads;
  try {
    while (threads.size() < count) threads.start(work, threads.size() + 1);
  } catch (const std::system_error&) {  // as many as there are do the work
  } catch (const std::bad_alloc&) {
  }
  return threads;
}

}  // namespace hybridkv
