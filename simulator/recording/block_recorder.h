#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "audit/event.h"
#include "audit/recording.h"
#include "planner/cache_plan.h"
#include "simulator/schedule/simulation.h"

namespace hybridkv {

/// The header of a recording of that cache: its attention groups, then its groups of states. What only a plan knows of
/// them, layers and bytes, is left out.
Recording recording_of(const CacheGeometry& geometry);
/// The same with what the plan of the cache says of its groups.
Recording recording_of(const CacheGeometry& geometry, const CachePlan& plan, const EngineSpec& engine);

/// Records a simulation of a cache of blocks as a recorder would record the engine: after every step it compares the
/// tables of running requests with those of the step before. Of a request, its number is that of the trace.
///
/// Rows that a request takes for a drafter's tokens are recorded as drafts, none of which is accepted. What a request
/// holds beside the groups in which prefixes are found is not recorded, since nobody finds it again.
class BlockRecorder {
 public:
  explicit BlockRecorder(std::function<void(const RecordedEvent&)> on_event) : on_event_(std::move(on_event)) {}

  /// Follows it from now on; the recorder outlives it. What was called at its steps before is called too.
  void watch(Simulation& simulation);

 private:
  // A running request as the recording has it.
  struct Recorded {
    std::vector<std::vector<BlockId>> attention;  // (attention group)
    std::vector<std::vector<BlockId>> states;     // (state group) with null blocks
  };

  void record_step(const Scheduler& scheduler);
  void record_preemptions(std::span<const std::unique_ptr<ActiveRequest>> running);
  void record_frees(const ActiveRequest& request, const Recorded& before);
  void record_first(const ActiveRequest& request, const CacheManager& cache);
  void record_tables(const ActiveRequest& request, const CacheManager& cache);
  void record_table(const ActiveRequest& request, std::int64_t group, const std::vector<BlockId>& before,
                    const std::vector<BlockId>& after, const std::function<bool(std::int64_t, BlockId)>& is_found);
  void record_keys(const ActiveRequest& request);
  void record_end(const ActiveRequest& request);

  std::function<void(const RecordedEvent&)> on_event_;
  std::map<std::int64_t, Recorded> recorded_;  // by the number of the request
  std::map<std::int64_t, std::size_t> keys_;   // recorded of each that has come in and not ended
  std::int64_t steps_ = 0;
};

}  // namespace hybridkv
