#include "clock/served_times.h"

#include <algorithm>

namespace hybridkv {

void ServedTimes::add(const RequestTimes& request) {
  const double first = request.first_token - request.arrival, each = request.output_token();
  first_token.add(first);
  if (request.generated > 1) output_token.add(each);
  end_to_end.add(request.end - request.arrival);
  const double queued = request.admitted - request.arrival;
  queueing.add(queued);
  if (first <= limits_.first_token && each <= limits_.output_token) ++good_;
  prompt_ += request.prompt;
  found_ += request.found;
  generated_ += request.generated;
  first_arrival_ = std::min(first_arrival_, request.arrival);
  last_arrival_ = std::max(last_arrival_, request.arrival);
  last_end_ = std::max(last_end_, request.end);

  if (spells_.empty() || spells_.back().requests == spell_requests_) {
    if (spells_.size() == most_spells) {
      for (std::size_t i = 0; i < most_spells / 2; ++i)
        spells_[i] = {spells_[2 * i].seconds + spells_[2 * i + 1].seconds,
                      spells_[2 * i].requests + spells_[2 * i + 1].requests};
      spells_.resize(most_spells / 2);
      spell_requests_ *= 2;
    }
    spells_.emplace_back();
  }
  spells_.back().seconds += queued;
  ++spells_.back().requests;
}

void ServedTimes::add_steps(const StepParts& parts, double times) {
  for (const StepPart part : all_step_parts) spent_[part] += parts[part] * times;
}

double ServedTimes::queueing_of_quarter(std::size_t quarter) const {
  Spell sum;
  for (std::size_t i = quarter * spells_.size() / 4; i < (quarter + 1) * spells_.size() / 4; ++i) {
    sum.seconds += spells_[i].seconds;
    sum.requests += spells_[i].requests;
  }
  return sum.requests == 0 ? 0 : sum.seconds / static_cast<double>(sum.requests);
}

bool ServedTimes::overloaded() const {
  // A burst that is worked off shows in the middle, a queue that grows at the end.
  constexpr double noticed = 1, times = 3;
  const double late = queueing_of_quarter(3);
  return late > noticed && late > times * queueing_of_quarter(0) && late >= queueing_of_quarter(2) &&
         queueing_of_quarter(2) >= queueing_of_quarter(1);
}

}  // namespace hybridkv
