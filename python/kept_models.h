#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "planner/cache_plan.h"

namespace hybridkv {

/// The plan with numbers only of keywords that name one model and say the rest by single values, made anew each time;
/// what a model's file says is kept until the file changes. Nothing for any other question, and where it has no answer:
/// the long way says why.
std::optional<PlanSet> plan_of_kept_model(const nanobind::dict& keys);

}  // namespace hybridkv
