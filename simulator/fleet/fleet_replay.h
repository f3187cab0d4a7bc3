#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/cache_replica.h"
#include "simulator/fleet/decode_pool.h"
#include "simulator/fleet/fleet_settings.h"
#include "simulator/fleet/router.h"
#include "simulator/schedule/trace_driver.h"

namespace hybridkv {

/// A request that was served, and where.
struct RoutedRequest {
  std::int64_t index = 0;
  std::int64_t replica = 0;
  std::int64_t prompt_tokens = 0, found_tokens = 0;
};

/// Several replicas of one cache behind a router.
struct FleetSpec {
  /// One replica. Requests in flight of a closed loop are those of the whole fleet; on_record gets the requests of all,
  /// on_event none.
  SimulationSpec replica;
  std::int64_t replicas = 1;
  RouterSettings router;
  std::vector<double> slowness = {};  ///< (replica) DriverSpec::slowness; those left out: 1
  std::vector<Outage> outages = {};   ///< of an open loop; somebody is always there
  DecodeSpec decode = {};             ///< with a clock, and nobody who fails
  std::function<void(const RoutedRequest&)> on_served = {};  ///< in the order in which requests end
};

/// What a router took to be found, and what was, of requests that were served.
struct RoutingCounts {
  bool believes = false;             ///< the router counts matches at all
  bool drops_events = false;         ///< of blocks of another size than the router assumes
  std::int64_t block_tokens = 0;     ///< in which it counts, 0: it does not
  std::int64_t believed_tokens = 0;  ///< found, as the router took it, where it sent each request
  std::int64_t overstated_tokens = 0;///< of them, not found
  std::int64_t unseen_tokens = 0;    ///< found beyond what it took to be found
};

/// Blocks that can be found at the end of the trace, over all replicas with pools of blocks.
struct SharedBlocks {
  std::int64_t findable = 0;
  std::int64_t repeated = 0;  ///< of them, those with the content of one that was counted before
};

/// Most over mean of what is counted of each replica; 1 where all are alike, or nothing is counted.
double most_over_mean(std::span<const std::int64_t> counts);

/// What one fleet found out.
struct FleetResult {
  std::vector<ReplayResult> replicas;  ///< as they are at the end, then those that failed
  ReplayCounts counts;               ///< of all together, each request once
  std::int64_t resent = 0;           ///< requests that were in flight at one that failed
  std::optional<HandedOver> handed_over;  ///< to those that generate
  std::optional<ServedTimes> times;  ///< of all requests, with a clock
  RoutingCounts routing;
  std::optional<SharedBlocks> blocks;
  std::vector<std::int64_t> computed_tokens;  ///< (replica) prompt tokens of served requests that were not found

  /// (replica) Microseconds for which it had its served requests running, all of them together; with a clock.
  std::vector<std::int64_t> running_microseconds;

  double imbalance() const { return most_over_mean(computed_tokens); }
  /// Of the requests that run at a time, in the mean.
  double running_imbalance() const { return most_over_mean(running_microseconds); }
};

/// A fleet under a trace. Memory grows with the replicas, as that of each alone does. Deterministic.
class FleetReplay final : public Replay {
 public:
  /// Throws as make_replica, Router and TraceDriver; SpecError "fleet.replicas", "fleet.slow", "fleet.decode_replicas"
  /// and "fleet.link_bandwidth" for numbers that are none, "fleet.down" for those that leave nobody, or of no open
  /// loop.
  explicit FleetReplay(const FleetSpec& spec);
  void consume(const TraceBatch& batch) override;
  void finish() override { trace_->finish(); }
  /// To be called once, after finish.
  FleetResult result();

 private:
  std::unique_ptr<CacheReplica> make(std::size_t place);
  std::size_t route(const TraceRequest& request, std::span<const TokenRun> prompt, double now);
  void fail(std::size_t place, double now);
  void record(std::size_t replica, const RecordView& view, const ReuseLoss* loss);

  FleetSpec spec_;
  std::vector<std::unique_ptr<CacheReplica>> replicas_, failed_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<DecodePool> decode_;  // behind all others; null: none
  std::unique_ptr<TraceDriver> trace_;
  struct Given {
    Routing routing;
    HeldRequest held;  // where replicas fail
  };
  std::map<std::int64_t, Given> given_;  // in flight, by index
  std::int64_t resent_ = 0, resent_tokens_ = 0;
  std::optional<ServedTimes> times_;
  RoutingCounts routing_;
  std::vector<std::int64_t> computed_, running_;  // (replica) FleetResult's
};

}  // namespace hybridkv
