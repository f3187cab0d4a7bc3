// Reaches into the last library of the house, so that all of them are linked.
#include <string>

#include "report/plan/plan_json.h"

[[gnu::visibility("default")]] std::string plan_text(const hybridkv::PlanSet& set) {
  return hybridkv::to_json(set).dump();
}
