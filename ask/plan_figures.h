#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// A plan at one of its lengths.
struct PlanAtLength {
  const CachePlan& plan;
  const CapacityPlan& capacity;
};

/// A number, word or answer; nothing where a plan has none.
using FigureValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A flat number or word of a plan. Tables, rows of sweeps, comparisons and the page take name, unit and value from
/// here, and add how they head it.
struct PlanFigure {
  std::string_view name;  ///< stable, as in the JSON of a plan where it is there: "block_size_tokens"
  std::string_view unit;  ///< "tokens", "bytes", "ids", "%" or empty
  FigureValue (*value)(const PlanAtLength&);
};

/// The figure of that name. Pre: there is one.
const PlanFigure& plan_figure(std::string_view name);

/// Every SpecPlan::kind that there is.
std::vector<std::string> layer_kinds();

}  // namespace hybridkv
