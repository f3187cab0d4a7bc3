#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "clock/served_times.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// One engine with its cache, to which whoever drives it gives requests in order of time.
class Replica {
 public:
  virtual ~Replica() = default;

  /// Where it is idle, it lets the time until then pass.
  virtual void pass_until(double seconds) = 0;
  /// Takes a request in, now.
  virtual void submit(const TraceRequest& request, std::span<const TokenRun> prompt) = 0;
  /// Requests that wait or run.
  virtual std::int64_t num_in_flight() const = 0;
  /// Prompt tokens of requests in flight that are still to be computed.
  virtual std::int64_t waiting_tokens() const = 0;
  /// Share of its memory that requests hold, 0 .. 1; 0 where its replay does not say.
  virtual double usage() const { return 0; }
  /// One step, or as many equal ones as begin before `until`, in seconds. Pre: num_in_flight() > 0.
  virtual void step(double until) = 0;
  /// Seconds at the end of its last step, or until which it idled.
  virtual double now() const = 0;
  /// Steps so far.
  virtual std::int64_t steps() const = 0;
  /// Does it look at what prompts consist of?
  virtual bool reads_prompts() const { return true; }

  /// Where set, called as a request ends, however it did, in seconds.
  std::function<void(std::int64_t index, double now)> on_end;
  /// Where set, called with a clock as a request has been served, before on_end.
  std::function<void(const RequestTimes&)> on_served;
};

}  // namespace hybridkv
