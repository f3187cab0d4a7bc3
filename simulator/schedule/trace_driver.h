#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "simulator/schedule/dependency_queue.h"
#include "simulator/schedule/driver_spec.h"
#include "simulator/schedule/replica.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// Gives the requests of a trace to one replica, or to several of which somebody chooses, each at its time.
///
/// Every replica has its own time, the end of its last step. The one furthest behind takes the next step, so that a
/// request that comes at a time finds no replica with a step that began later. Of a closed loop each user sends the
/// next request of the trace when the one before has ended and the user has thought about it. A request may go on at
/// another replica once it has ended at one. Deterministic.
class TraceDriver {
 public:
  /// The place of the replica that is to take the request, told in order of time.
  using Choice = std::function<std::size_t(const TraceRequest&, std::span<const TokenRun> prompt, double now)>;

  /// The replicas outlive it; without a choice there is one. Throws as check_driver.
  TraceDriver(const DriverSpec& driver, std::vector<Replica*> replicas, Choice choice = {});
  TraceDriver(const TraceDriver&) = delete;
  TraceDriver& operator=(const TraceDriver&) = delete;

  /// The next requests of the trace. Throws InputError for an open loop whose requests are not in order of time.
  void consume(const TraceBatch& batch);
  /// Runs what is still in flight to its end.
  void finish();
  /// `action` is called at that time, after all that happened before. Pre: an open loop, before the first batch; or
  /// goes_on is set, and no replica that is busy is further.
  void at(double seconds, std::function<void(double now)> action);
  /// Another replica takes that place; what is in flight at the one before is forgotten.
  void replace(std::size_t place, Replica& replica);
  /// A request that was given before is given once more, to whom the choice says now.
  void give_again(const TraceRequest& request, std::span<const TokenRun> prompt, double now);
  /// The replica at that place takes the request, now.
  void give_to(std::size_t place, const TraceRequest& request, std::span<const TokenRun> prompt, double now);

  /// Where set, asked as a request ends at a replica: does it go on at another? Whoever says so gives it there, by `at`
  /// and give_to.
  std::function<bool(std::int64_t index, double now)> goes_on;

 private:
  void consume_open(TraceRequest request, const TraceBatch& batch);
  void give(const TraceRequest& request, std::span<const TokenRun> prompt);
  // Has what happens at one replica to do with others before the next request comes?
  bool coupled() const { return waiting_.size() > 0 || !actions_.empty() || goes_on != nullptr; }
  double next_action() const;
  // Of an action, or of a request that waits for nothing any more.
  double next_event() const;
  void act();
  // Steps until `seconds`; on the way actions are called, and requests that became ready start.
  void advance_to(double seconds);
  bool give_ready(double until);
  // The replica with requests that is furthest behind; nothing where all are idle.
  Replica* furthest_behind() const;
  // Steps that one, at most until another replica's time where what ends there may be followed by a request.
  void step(Replica& behind, double until);
  // How far all have come.
  double now(const Replica* behind) const;
  void ended(std::int64_t index, double seconds);

  DriverSpec driver_;
  std::vector<Replica*> replicas_;
  Choice choice_;
  std::multimap<double, std::function<void(double now)>> actions_;  // by seconds
  bool keeps_prompts_ = false;  // of requests that wait for others
  DependencyQueue waiting_;     // of the open loop
  std::int64_t fresh_users_ = 1;  // of the closed loop, who have sent nothing yet
  std::priority_queue<double, std::vector<double>, std::greater<>> free_;  // when others send their next request
  double idle_until_ = 0;
  double last_arrival_ = 0;
};

}  // namespace hybridkv
