#include "simulator/schedule/loop_replica.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hybridkv {

LoopReplica::LoopReplica(const DriverSpec& driver, Found found, bool reads_prompts)
    : clock_(driver.clock),
      found_(std::move(found)),
      reads_prompts_(reads_prompts),
      slowness_(driver.slowness),
      loop_(driver.loop, driver.clock->windows()),
      times_(driver.limits) {
  const double late = clock_->first_token_seconds();
  loop_.on_admission = [this](std::int64_t index) { requests_.at(index).admitted = step_start_; };
  loop_.on_first_token = [this, late](std::int64_t index) { requests_.at(index).first_token = now_ + late; };
  loop_.on_end = [this, late](std::int64_t index) {
    RequestTimes& request = requests_.at(index);
    request.end = now_ + late;
    times_.add(request);
    if (on_served) on_served(request);
    requests_.erase(index);
    if (on_end) on_end(index, now_);
  };
}

std::unique_ptr<LoopReplica> LoopReplica::behind_prompts(const DriverSpec& driver) {
  const auto all = [](const TraceRequest& request, std::span<const TokenRun>) {
    return std::optional(FoundPrefix{request.input_length});
  };
  auto replica = std::make_unique<LoopReplica>(driver, all, false);
  replica->prefilled_ = true;
  return replica;
}

void LoopReplica::submit(const TraceRequest& request, std::span<const TokenRun> prompt) {
  const std::optional<FoundPrefix> prefix = found_(request, prompt);
  if (!prefix) {
    if (on_end) on_end(request.index, std::max(now_, request.arrival_seconds));
    return;
  }
  const std::int64_t outputs = std::max<std::int64_t>(1, request.output_length);
  // A prompt that was found whole still has its last token computed.
  const std::int64_t found = std::min(prefix->tokens, request.input_length - 1);
  requests_[request.index] = {.arrival = request.arrival_seconds,
                              .prompt = request.input_length,
                              .found = found,
                              .generated = request.output_length,
                              .index = request.index};
  loop_.submit({.index = request.index,
                .prompt = request.input_length,
                .found = prefilled_ ? 0 : found,
                .outputs = outputs,
                .load_seconds = prefix->load_seconds,
                .prefilled = prefilled_});
}

void LoopReplica::step(double until) {
  step_start_ = now_;
  loop_.next();
  std::int64_t steps = loop_.most_steps();
  if (steps > 1 && until - now_ < std::numeric_limits<double>::max()) {
    const double one = clock_->seconds(loop_.middle(1)) * slowness_;
    steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil((until - now_) / one)), 1, steps);
  }
  const StepParts parts = clock_->parts(loop_.middle(steps));
  times_.add_steps(parts, static_cast<double>(steps));
  now_ += parts.total() * slowness_ * static_cast<double>(steps);
  steps_ += steps;
  loop_.complete(steps);
}

}  // namespace hybridkv
