#include "ask/clock/step_answer.h"

#include <utility>

namespace hybridkv {

StepAnswer step_answer(const Scenario& scenario, const ClockQuestion& question, StepShape shape) {
  ServedClock served = served_clock(scenario, question);
  const StepBatch batch = served_batch(shape, served.clock->windows());
  std::vector<StepTerm> terms = step_terms(*served.clock, batch);
  const StepParts parts = served.clock->parts(batch);
  return {scenario.model.name, std::move(served), std::move(shape), std::move(terms), parts};
}

}  // namespace hybridkv
