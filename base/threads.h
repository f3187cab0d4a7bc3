#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace hybridkv {

/// Starts up to `count` threads, which run work(1), work(2), …; the caller does the share of thread 0. Where the system
/// gives no more threads (a limit, memory) there are fewer, perhaps none: whoever calls divides the work while it runs.
/// The threads are joined when the result goes.
std::vector<std::jthread> start_threads(std::size_t count, const std::function<void(std::size_t thread)>& work);

}  // namespace hybridkv
