#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "scenarios/model_library.h"

namespace hybridkv {

/// A model as `models` lists it.
struct ListedModel {
  ModelSpec model;
  std::vector<std::string> aliases;     ///< further names of the same shapes
  std::vector<std::string> unverified;  ///< facts that could not be confirmed, without the order of the layers
  CachePlan plan;                       ///< without any flag, on one rank, N = 1; only its sizes mean anything
};

/// The model with its plan.
ListedModel listed(const ShippedModel& shipped);

/// The shipped models with this in their name or a further name, and layers of this family; empty texts leave out none.
std::vector<ListedModel> list_models(const std::string& name, const std::string& family);

/// Families of the recurrent layers of the shipped models, sorted.
std::vector<std::string> shipped_families();

}  // namespace hybridkv
