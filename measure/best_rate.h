#pragma once

#include <cstdint>
#include <functional>

namespace hybridkv {

/// What so many threads do a second together: the best of several short rounds, since a machine that is shared has no
/// long quiet time, but many short ones. In every round the threads, numbered from 0, do work(thread, threads) side by
/// side; it returns how much that was. A round's rate is the sum of what each did over its own time, so that a thread
/// that others kept from beginning does not count as a slow one; threads beyond the cores of the machine add nothing.
/// They are started before the first round and wait awake. So many as the system gives take part. Pre: threads >= 1,
/// rounds >= 1, `work` does not throw.
double best_rate(std::int64_t threads, int rounds,
                 const std::function<double(std::int64_t thread, std::int64_t threads)>& work);

}  // namespace hybridkv
