#include "simulator/schedule/trace_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/contract.h"
#include "base/error.h"

namespace hybridkv {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

TraceDriver::TraceDriver(const DriverSpec& driver, std::vector<Replica*> replicas, Choice choice)
    : driver_(driver), replicas_(std::move(replicas)), choice_(std::move(choice)) {
  check_driver(driver_);
  if (driver_.kind == DriverKind::closed_loop) fresh_users_ = driver_.in_flight;
  for (std::size_t place = 0; place < replicas_.size(); ++place) {
    keeps_prompts_ = keeps_prompts_ || replicas_[place]->reads_prompts();
    replace(place, *replicas_[place]);
  }
}

void TraceDriver::replace(std::size_t place, Replica& replica) {
  replicas_[place]->on_end = {};
  replicas_[place] = &replica;
  replica.on_end = [this](std::int64_t index, double seconds) { ended(index, seconds); };
}

void TraceDriver::at(double seconds, std::function<void(double now)> action) {
  expects(goes_on || driver_.kind == DriverKind::open_loop, "only an open loop has times of its own");
  actions_.emplace(seconds, std::move(action));
}

double TraceDriver::next_action() const { return actions_.empty() ? never : actions_.begin()->first; }

double TraceDriver::next_event() const { return std::min(next_action(), waiting_.next_ready().value_or(never)); }

void TraceDriver::act() {
  const auto next = actions_.extract(actions_.begin());
  next.mapped()(next.key());
}

void TraceDriver::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    if (driver_.kind == DriverKind::open_loop) {
      consume_open(request, batch);
      continue;
    }
    TraceRequest sent = request;
    sent.arrival_seconds = 0;
    if (fresh_users_ > 0) {
      --fresh_users_;
    } else {
      // The first user who is free: nobody who is behind can become free earlier.
      while (true) {
        Replica* const behind = furthest_behind();
        const double here = behind != nullptr ? behind->now() : never, free = free_.empty() ? never : free_.top();
        if (next_action() <= std::min(here, free) && !actions_.empty()) act();
        else if (behind != nullptr && here < free) step(*behind, free);
        else break;
      }
      sent.arrival_seconds = free_.top();
      free_.pop();
    }
    give(sent, batch.prompt(request));
  }
}

void TraceDriver::consume_open(TraceRequest request, const TraceBatch& batch) {
  request.arrival_seconds /= driver_.rate;
  if (request.arrival_seconds < last_arrival_)
    throw InputError(fmt::format("the open loop needs a trace in order of time: request {} arrives at {} s, an earlier "
                                 "one at {} s", request.index, request.arrival_seconds, last_arrival_));
  last_arrival_ = request.arrival_seconds;
  advance_to(request.arrival_seconds);
  const auto prompt = batch.prompt(request);
  if (waiting_.announce(request, keeps_prompts_ ? prompt : prompt.first(0), batch.waits_for(request))) return;
  give(request, prompt);
}

void TraceDriver::give(const TraceRequest& request, std::span<const TokenRun> prompt) {
  if (driver_.kind == DriverKind::open_loop) waiting_.submitted(request.index, request.arrival_seconds);
  give_again(request, prompt, request.arrival_seconds);
}

void TraceDriver::give_again(const TraceRequest& request, std::span<const TokenRun> prompt, double now) {
  give_to(choice_ ? choice_(request, prompt, now) : 0, request, prompt, now);
}

void TraceDriver::give_to(std::size_t place, const TraceRequest& request, std::span<const TokenRun> prompt,
                          double now) {
  Replica& replica = *replicas_[place];
  replica.pass_until(now);
  replica.submit(request, prompt);
}

bool TraceDriver::give_ready(double until) {
  bool any = false;
  for (auto ready = waiting_.next_ready(); ready && *ready <= until; ready = waiting_.next_ready()) {
    const HeldRequest held = waiting_.take_ready();
    give(held.request, held.prompt);
    any = true;
  }
  return any;
}

void TraceDriver::advance_to(double seconds) {
  if (!coupled()) {
    for (Replica* const replica : replicas_)
      while (replica->now() < seconds && replica->num_in_flight() > 0) replica->step(seconds);
    return;
  }
  while (true) {
    Replica* const behind = furthest_behind();
    const double here = now(behind);
    // Whoever got a request may now be furthest behind.
    if (!actions_.empty() && next_action() <= std::min(here, seconds)) {
      act();
      continue;
    }
    if (give_ready(std::min(here, seconds))) continue;
    if (here >= seconds) return;
    const double next = std::min(seconds, std::max(here, next_event()));
    if (behind != nullptr) step(*behind, next);
    else idle_until_ = next;
  }
}

Replica* TraceDriver::furthest_behind() const {
  Replica* behind = nullptr;
  for (Replica* const replica : replicas_) {
    if (replica->num_in_flight() == 0) continue;
    // Where steps take no time, all take turns.
    if (behind == nullptr || std::tuple(replica->now(), replica->steps()) < std::tuple(behind->now(), behind->steps()))
      behind = replica;
  }
  return behind;
}

void TraceDriver::step(Replica& behind, double until) {
  until = std::min(until, std::max(behind.now(), next_action()));
  if (driver_.kind != DriverKind::open_loop || coupled())
    for (const Replica* const other : replicas_)
      if (other != &behind && other->num_in_flight() > 0) until = std::min(until, std::max(behind.now(), other->now()));
  behind.step(until);
}

double TraceDriver::now(const Replica* behind) const {
  if (behind != nullptr) return behind->now();
  double seconds = idle_until_;
  for (const Replica* const replica : replicas_) seconds = std::max(seconds, replica->now());
  return seconds;
}

void TraceDriver::ended(std::int64_t index, double seconds) {
  if (goes_on && goes_on(index, seconds)) return;
  if (driver_.kind == DriverKind::open_loop) waiting_.ended(index, seconds);
  else free_.push(seconds + driver_.think_seconds);
}

void TraceDriver::finish() {
  // What happens once all requests have come changes only those that are not done yet.
  while (coupled() && (waiting_.size() > 0 || goes_on || furthest_behind() != nullptr)) {
    const double next = next_event();
    if (furthest_behind() == nullptr) {
      if (next == never) break;
      idle_until_ = std::max(idle_until_, next);
    }
    advance_to(now(furthest_behind()));
    if (Replica* const behind = furthest_behind()) step(*behind, next_event());
  }
  for (Replica* const replica : replicas_)
    while (replica->num_in_flight() > 0) replica->step(never);
}

}  // namespace hybridkv
