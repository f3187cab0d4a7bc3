#pragma once

#include <optional>
#include <vector>

#include "planner/cache_plan.h"
#include "scenarios/read.h"
#include "tests/report/room_answer.h"

namespace hybridkv::testing {

/// A question, and its plan as far as there is one.
struct AskedQuestion {
  ScenarioFile file;
  std::optional<Scenario> scenario;  ///< unset: it cannot be read
  std::optional<CachePlan> plan;     ///< unset: it is refused
};

/// What `plan` says, from the plan itself; fills in the rest of the question.
RoomAnswer plan_room(AskedQuestion& asked);

/// Its CSV and JSON, `explain`, `compare`, `sweep`, `boot`, `transfer`. Pre: plan_room was asked.
std::vector<RoomAnswer> planning_rooms(const AskedQuestion& asked);

}  // namespace hybridkv::testing
