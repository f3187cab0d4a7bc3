#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ask/compare/compare_rules.h"
#include "planner/cache_plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A planned setting at the length that is compared.
struct PlannedSetting {
  const Scenario& scenario;
  const CachePlan& plan;
  const CapacityPlan& capacity;  ///< of the longest length
};

/// A number or word that settings are compared by.
struct CompareRow {
  std::string name;   ///< stable, as in the JSON of a plan where it is there: "block_size_tokens"
  std::string title;  ///< for people: "block"
  std::string unit;   ///< "tokens", "bytes", "blocks", "ids", "%" or empty
  std::string key;    ///< of the scenario, where the value is a setting of its own: "engine.release"
  std::function<ComparedValue(const PlannedSetting&)> value;
  std::function<std::string(const PlannedSetting&)> symbol;  ///< of the decision that comes to it; unset: none
  /// Where no decision comes to the number itself: how it follows from those of `symbol`.
  std::string rule = {};
  /// Rows that the rule computes with, and how it calls them.
  std::vector<std::pair<std::string, std::string>> from = {};
};

/// All rows, in the order in which they are read: what was set, then sizes, ids, capacity, prefixes and waste.
std::span<const CompareRow> compare_rows();

}  // namespace hybridkv
