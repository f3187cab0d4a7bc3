#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "clock/duration_histogram.h"
#include "clock/step_clock.h"

namespace hybridkv {

/// What a service promises; a request that keeps both is good.
struct ServiceLimits {
  double first_token = std::numeric_limits<double>::infinity();   ///< seconds, >= 0
  double output_token = std::numeric_limits<double>::infinity();  ///< seconds a token, >= 0
  bool any() const { return std::min(first_token, output_token) < std::numeric_limits<double>::infinity(); }
  bool operator==(const ServiceLimits&) const = default;
};

/// When things happened to a request that was served to its end, in seconds of the replay.
struct RequestTimes {
  double arrival = 0;
  double admitted = 0;      ///< start of the step with its first tokens
  double first_token = 0;   ///< as the client sees it
  double end = 0;
  std::int64_t prompt = 0;
  std::int64_t found = 0;   ///< tokens of it that were not computed
  std::int64_t generated = 0;
  std::int64_t index = 0;   ///< of the request in its trace

  double output_token() const { return generated > 1 ? (end - first_token) / static_cast<double>(generated - 1) : 0; }
};

class ServedTimes;
/// Which of the durations that follow: of first tokens, further ones, whole requests or queueing.
using ServedDurations = DurationHistogram ServedTimes::*;

/// How long requests took. Memory is fixed, however many there are.
class ServedTimes {
 public:
  explicit ServedTimes(const ServiceLimits& limits = {}) : limits_(limits) {}

  void add(const RequestTimes& request);
  /// `times` steps that took these parts each.
  void add_steps(const StepParts& parts, double times);

  const ServiceLimits& limits() const { return limits_; }
  std::int64_t requests() const { return first_token.count(); }
  std::int64_t good_requests() const { return good_; }
  std::int64_t prompt_tokens() const { return prompt_; }
  std::int64_t found_tokens() const { return found_; }
  std::int64_t generated_tokens() const { return generated_; }
  /// From the first arrival to the last end.
  double span_seconds() const { return requests() == 0 ? 0 : last_end_ - first_arrival_; }
  /// Requests a second that came, from the first arrival to the last; 0 where all came at once.
  double offered() const {
    return last_arrival_ > first_arrival_ ? static_cast<double>(requests()) / (last_arrival_ - first_arrival_) : 0;
  }
  /// Of the steps together, by part.
  const StepParts& spent() const { return spent_; }
  /// Whether the queue grew while requests came: means over all of them then say how long the trace is, and no more.
  bool overloaded() const;
  /// Mean queueing of the first and of the last quarter of the requests.
  double early_queueing() const { return queueing_of_quarter(0); }
  double late_queueing() const { return queueing_of_quarter(3); }

  DurationHistogram first_token;   ///< arrival to the first token
  DurationHistogram output_token;  ///< between tokens, a mean of each request with more than one
  DurationHistogram end_to_end;    ///< arrival to the last token
  DurationHistogram queueing;      ///< arrival to the first step

  bool operator==(const ServedTimes&) const = default;

 private:
  /// Queueing of requests that ended one after the other. There are at most most_spells; when they are full, pairs
  /// become one.
  struct Spell {
    double seconds = 0;
    std::int64_t requests = 0;
    bool operator==(const Spell&) const = default;
  };
  static constexpr std::size_t most_spells = 64;
  double queueing_of_quarter(std::size_t quarter) const;

  ServiceLimits limits_;
  std::int64_t good_ = 0, prompt_ = 0, found_ = 0, generated_ = 0;
  double first_arrival_ = std::numeric_limits<double>::infinity();
  double last_arrival_ = 0;
  double last_end_ = 0;
  StepParts spent_;
  std::vector<Spell> spells_;
  std::int64_t spell_requests_ = 1;  // of a full one
};

}  // namespace hybridkv
