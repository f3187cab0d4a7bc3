#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "search/offline_schedule.h"
#include "search/reuse_paths.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// The pools of a layout as a schedule is replayed through them.
struct ScheduledPools {
  /// What a group takes of its arena: ids of a unit of tokens, or of one state.
  struct Group {
    std::int64_t arena = 0;
    std::int64_t ids = 0;  ///< >= 1
  };
  std::vector<std::int64_t> usable_ids;  ///< (arena) null id not counted, >= 1
  std::vector<Group> tokens;             ///< groups whose K and V are found again
  std::vector<Group> states;
  /// (arena) ids that a running request of so many tokens has, its K and V and running states among them.
  std::function<std::vector<std::int64_t>(std::int64_t tokens)> running;
};

/// What a schedule finds where its ids are handed out for real.
struct ScheduleReplayStats {
  std::int64_t hit_tokens = 0;
  std::int64_t missed_requests = 0;  ///< that found less than the schedule says
};

/// Replays a trace through block pools of the simulator, with the eviction of one who knows the future: what the
/// schedule wants later stays, everything else goes at once.
///
/// A request holds what it finds under the keys of its prompt, takes ids for the rest and for its running states, and
/// beside them one state for each length at which a later request goes on; what it finds is what the pools still hold,
/// whatever the schedule says. So the tokens are a real figure also where the schedule's account of bytes and the ids
/// of a layout differ. Ids of an arena that all groups take together are counted as one.
class ScheduleReplay {
 public:
  /// `max_model_len`: as of the paths. All outlive the replay.
  ScheduleReplay(const ReusePaths& paths, const OfflineSchedule& schedule, const ScheduledPools& pools,
                 std::optional<std::int64_t> max_model_len);
  ~ScheduleReplay();

  /// The requests of the paths again, in the same order.
  void consume(const TraceBatch& batch);
  const ScheduleReplayStats& stats() const { return stats_; }

 private:
  class Pools;
  struct Wanted;

  void run(std::int64_t request, std::int64_t tokens);
  // Units of the prompt that are there with a state behind them, held: at most those that the schedule wants.
  std::int64_t hold_found(std::int64_t wanted);

  const ReusePaths& paths_;
  const OfflineSchedule& schedule_;
  std::optional<std::int64_t> max_model_len_;
  std::unique_ptr<Pools> pools_;
  std::vector<Wanted> wanted_;  // (request) of what it leaves
  std::vector<PrefixKey> keys_;
  std::int64_t next_request_ = 0;
  ScheduleReplayStats stats_;
};

}  // namespace hybridkv
