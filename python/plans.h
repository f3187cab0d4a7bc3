#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Plans as Python holds them: made once, read as often as wanted.
struct Plans {
  std::shared_ptr<const PlanSet> set;
};

/// The functions `plan` and `plan_numbers` and the class of their answer.
void register_plans(nanobind::module_& module);

}  // namespace hybridkv
