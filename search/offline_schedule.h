#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/hit_ceiling.h"

namespace hybridkv {

/// What a cache that knows the trace keeps: for each request the units of its prompt that are there when it comes.
struct OfflineSchedule {
  std::vector<std::int32_t> units;  ///< (request)
  std::int64_t tokens = 0;          ///< found in all: what is possible, no bound
};

/// Bytes that one running request has for itself.
struct RunningBytes {
  std::int64_t tokens = 0;  ///< of its K and V
  std::int64_t states = 0;
};

/// Memory of a cache as a schedule fills it.
struct ScheduleMemory {
  std::int64_t token_bytes = 0;  ///< for K and V
  std::int64_t state_bytes = 0;  ///< for states; 0: they share that of tokens
};

/// A schedule made from prices: hits that pay most a token at these prices are kept first, then whatever still fits.
///
/// Never over the memory: while a request runs, `running(request)` bytes are its own, whatever of its prompt was found.
/// States kept for later are counted beside that from the request on that leaves them. Deterministic; O(stretches log
/// requests) a pass.
OfflineSchedule offline_schedule(const ReusePaths& paths, const CacheSizes& sizes, const std::vector<double>& price,
                                 const ScheduleMemory& memory,
                                 const std::function<RunningBytes(std::int64_t request)>& running);

}  // namespace hybridkv
