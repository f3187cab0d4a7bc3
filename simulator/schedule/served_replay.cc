#include "simulator/schedule/served_replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hybridkv {

ServedReplay::ServedReplay(const DriverSpec& driver)
    : driver_(driver), loop_(driver.loop, driver.clock->windows()), times_(driver.limits) {
  const double late = driver_.clock->first_token_seconds();
  loop_.on_admission = [this](std::int64_t index) { requests_.at(index).admitted = step_start_; };
  loop_.on_first_token = [this, late](std::int64_t index) { requests_.at(index).first_token = now_ + late; };
  loop_.on_end = [this, late](std::int64_t index) {
    RequestTimes& request = requests_.at(index);
    request.end = now_ + late;
    times_.add(request);
    requests_.erase(index);
    if (driver_.kind == DriverKind::open_loop) held_.ended(index, now_);
  };
}

void ServedReplay::consume(const TraceRequest& traced, std::span<const TokenRun> prompt,
                           std::span<const TraceDependency> waits_for, std::optional<std::int64_t> found) {
  TraceRequest request = traced;
  request.arrival_seconds /= driver_.rate;
  if (driver_.kind != DriverKind::open_loop) {
    const std::int64_t most = driver_.kind == DriverKind::closed_loop ? driver_.in_flight : 1;
    while (in_flight() >= most) step(std::numeric_limits<double>::infinity());
    request.arrival_seconds = now_;
    submit(request, found);
    return;
  }
  advance_to(request.arrival_seconds);
  // Nobody looks at the prompt again.
  if (held_.announce(request, prompt.first(0), waits_for)) {
    found_[request.index] = found;
    return;
  }
  submit(request, found);
}

void ServedReplay::submit(const TraceRequest& request, std::optional<std::int64_t> found_tokens) {
  if (driver_.kind == DriverKind::open_loop) held_.submitted(request.index, request.arrival_seconds);
  if (!found_tokens) {
    if (driver_.kind == DriverKind::open_loop) held_.ended(request.index, request.arrival_seconds);
    return;
  }
  const std::int64_t outputs = std::max<std::int64_t>(1, request.output_length);
  // A prompt that was found whole still has its last token computed.
  const std::int64_t found = std::min(*found_tokens, request.input_length - 1);
  requests_[request.index] = {.arrival = request.arrival_seconds,
                              .prompt = request.input_length,
                              .found = found,
                              .generated = request.output_length};
  loop_.submit({.index = request.index, .prompt = request.input_length, .found = found, .outputs = outputs});
}

// One step, or as many equal ones as begin before `until`.
void ServedReplay::step(double until) {
  step_start_ = now_;
  loop_.next();
  std::int64_t steps = loop_.most_steps();
  if (steps > 1 && until - now_ < std::numeric_limits<double>::max()) {
    const double one = driver_.clock->seconds(loop_.middle(1));
    steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil((until - now_) / one)), 1, steps);
  }
  const StepParts parts = driver_.clock->parts(loop_.middle(steps));
  times_.add_steps(parts, static_cast<double>(steps));
  now_ += parts.total() * static_cast<double>(steps);
  loop_.complete(steps);
}

void ServedReplay::advance_to(double seconds) {
  while (true) {
    for (auto ready = held_.next_ready(); ready && *ready <= std::min(now_, seconds); ready = held_.next_ready()) {
      const HeldRequest next = held_.take_ready();
      const auto found = found_.extract(next.request.index);
      submit(next.request, found.mapped());
    }
    if (now_ >= seconds) return;
    const double next_ready = held_.next_ready().value_or(seconds);
    if (!loop_.idle()) step(std::min(seconds, std::max(now_, next_ready)));
    else now_ = std::max(now_, std::min(seconds, next_ready));
  }
}

ServedTimes ServedReplay::finish() {
  while (!loop_.idle() || held_.size() > 0) {
    if (const auto ready = held_.next_ready(); ready && *ready > now_ && loop_.idle()) now_ = *ready;
    advance_to(now_);
    if (!loop_.idle()) step(held_.next_ready().value_or(std::numeric_limits<double>::infinity()));
  }
  return times_;
}

}  // namespace hybridkv
