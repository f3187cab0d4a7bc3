#pragma once

#include <cstddef>
#include <functional>

namespace hybridkv {

/// Threads that a request for `threads` gets: that many, or one per core of the machine for 0. At least 1.
std::size_t num_threads(std::size_t threads);

/// Calls body(i) for i from 0 to count - 1 on all cores; the first exception is thrown again on the caller's thread.
/// Calls must not depend on each other; the result of a program must not depend on their order.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

/// The same on `threads` threads, each with a number of its own: body(i, thread), thread < num_threads(threads). For
/// scratch that is kept between calls. With one thread everything runs on the caller's, in order.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t thread)>& body);

}  // namespace hybridkv
