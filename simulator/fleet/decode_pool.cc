#include "simulator/fleet/decode_pool.h"

#include <algorithm>

namespace hybridkv {

DecodePool::DecodePool(const DriverSpec& driver, const DecodeSpec& spec)
    : clock_(driver.clock), link_(spec.link_bytes_per_second) {
  for (std::int64_t i = 0; i < spec.replicas; ++i) {
    replicas_.push_back(LoopReplica::behind_prompts(driver));
    replicas_.back()->on_served = [this](const RequestTimes& times) { served(times); };
  }
}

void DecodePool::join(TraceDriver& trace, std::size_t first) {
  trace.goes_on = [this, &trace, first](std::int64_t index, double now) {
    if (!awaits(index)) return false;
    trace.at(now + link_seconds(index), [this, &trace, first, index](double seconds) {
      const auto [place, request] = arrived(index, seconds);
      trace.give_to(first + place, request, {}, seconds);
    });
    return true;
  };
}

TraceRequest DecodePool::prompt_of(const TraceRequest& request) {
  known_[request.index] = {.outputs = request.output_length};
  TraceRequest prompt = request;
  prompt.output_length = std::min<std::int64_t>(1, request.output_length);
  return prompt;
}

bool DecodePool::prompt_done(const RequestTimes& times) {
  const auto known = known_.find(times.index);
  if (known->second.outputs > 1) {
    known->second.prompt = times;
    return true;
  }
  known_.erase(known);
  return false;
}

bool DecodePool::awaits(std::int64_t index) {
  const auto known = known_.find(index);
  if (known == known_.end()) return false;
  if (known->second.prompt) return true;
  known_.erase(known);
  return false;
}

double DecodePool::link_seconds(std::int64_t index) const {
  const auto tokens = static_cast<double>(known_.at(index).prompt->prompt);
  return sequence_bytes(clock_->model(), tokens) / link_;
}

std::pair<std::size_t, TraceRequest> DecodePool::arrived(std::int64_t index, double now) {
  Known& known = known_.at(index);
  known.arrived = now;
  const auto fewest = std::min_element(replicas_.begin(), replicas_.end(), [](const auto& a, const auto& b) {
    return a->num_in_flight() < b->num_in_flight();
  });
  return {static_cast<std::size_t>(fewest - replicas_.begin()),
          {.index = index,
           .arrival_seconds = known.prompt->arrival,
           .input_length = known.prompt->prompt,
           .output_length = known.outputs}};
}

void DecodePool::served(RequestTimes times) {
  const Known known = known_.extract(times.index).mapped();
  const double waited = times.admitted - known.arrived;
  ++handed_over_.requests;
  handed_over_.bytes += sequence_bytes(clock_->model(), static_cast<double>(times.prompt));
  handed_over_.place_seconds += waited;
  times.admitted = known.prompt->admitted + waited;
  times.found = known.prompt->found;
  if (on_served) on_served(times);
}

StepParts DecodePool::spent() const {
  StepParts all;
  for (const auto& replica : replicas_)
    for (const StepPart part : all_step_parts) all[part] += replica->times().spent()[part];
  return all;
}

}  // namespace hybridkv
