#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/fleet/fleet_settings.h"
#include "simulator/schedule/loop_replica.h"
#include "simulator/schedule/trace_driver.h"

namespace hybridkv {

/// What was handed over, of all requests together.
struct HandedOver {
  std::int64_t requests = 0;
  double bytes = 0;            ///< of one rank
  double place_seconds = 0;    ///< that they waited, once they were there, for a step that took them in
};

/// The decode side of prefill/decode disaggregation (DistServe, arXiv 2401.09670): a request's prompt, with its first
/// token, is computed by one replica; then K, V and states go over a link to a replica that generates all others. Every
/// link is the request's alone. A replica here has no cache of prefixes, and as much memory as one that computes
/// prompts.
class DecodePool {
 public:
  /// Pre: driver.clock, spec.replicas >= 1.
  DecodePool(const DriverSpec& driver, const DecodeSpec& spec);

  /// Lets a driver, whose replicas from `first` on are these, send here whose prompts are done. The driver outlives no
  /// request of it.
  void join(TraceDriver& trace, std::size_t first);
  /// The request as the side of the prompts is to see it: it ends with its first token. Remembered until it ends.
  TraceRequest prompt_of(const TraceRequest& request);
  /// Its prompt is done. False: it was to have no token more, and is forgotten.
  bool prompt_done(const RequestTimes& times);
  std::size_t size() const { return replicas_.size(); }
  Replica& replica(std::size_t place) { return *replicas_[place]; }
  const HandedOver& handed_over() const { return handed_over_; }
  /// Of the steps of all.
  StepParts spent() const;

  /// Where set, called as a request has been served: from its arrival on the side of the prompts to its last token.
  /// It queued on both sides.
  std::function<void(const RequestTimes&)> on_served;

 private:
  struct Known {
    std::int64_t outputs = 0;
    std::optional<RequestTimes> prompt = {};  // as the other side served it
    double arrived = 0;                       // its cache is here, in seconds
  };
  // The request ended on the other side: is the rest to be generated here? It is forgotten where not.
  bool awaits(std::int64_t index);
  // For which its cache is on the way. Pre: awaits it.
  double link_seconds(std::int64_t index) const;
  // It is there now: the place of the replica with the fewest requests, and what it is given. Pre: awaits it.
  std::pair<std::size_t, TraceRequest> arrived(std::int64_t index, double now);
  void served(RequestTimes times);

  std::shared_ptr<const StepClock> clock_;
  double link_;
  std::vector<std::unique_ptr<LoopReplica>> replicas_;
  std::unordered_map<std::int64_t, Known> known_;  // in flight on either side, by index
  HandedOver handed_over_;
};

}  // namespace hybridkv
