#pragma once

#include <cstddef>
#include <functional>

namespace hybridkv {

/// Calls body(i) for i from 0 to count - 1 on all cores; the first exception is thrown again on the caller's thread.
/// Calls must not depend on each other; the result of a program must not depend on their order.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace hybridkv
