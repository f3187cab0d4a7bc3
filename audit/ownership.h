#pragma once

#include <cstdint>
#include <functional>

#include "audit/owned_cache.h"

namespace hybridkv {

/// Replays who owns which byte of a recorded cache, event by event, and says what the recording proves to be wrong:
/// every byte that a request reads was written for its prefix, at its position, on its rank and by its layers, and was
/// not freed or overwritten since.
///
/// Sound: it raises nothing that the recording does not prove. Where some requests are not in it, or the cache was in
/// use before, what those wrote counts as right.
class Ownership {
 public:
  /// Throws InputError for a recording that validate() refuses.
  Ownership(const Recording& recording, std::function<void(const OwnershipFinding&)> on_finding);

  /// `line`: where the event stands, for findings. Throws InputError for an event that cannot be: of a request that has
  /// not come in, a block or group that is not there.
  void consume(const RecordedEvent& event, std::int64_t line);

  const Recording& recording() const { return cache_.recording; }
  const OwnershipCounts& counts() const { return cache_.counts; }
  /// All that is known behind the events so far.
  const OwnedCache& cache() const { return cache_; }

 private:
  OwnedCache cache_;
};

}  // namespace hybridkv
