#include "base/threads.h"

#include <new>
#include <system_error>

namespace hybridkv {

std::vector<std::jthread> start_threads(std::size_t count, const std::function<void(std::size_t thread)>& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(work, threads.size() + 1);
  } catch (const std::system_error&) {  // as many as there are do the work
  } catch (const std::bad_alloc&) {
  }
  return threads;
}

}  // namespace hybridkv
