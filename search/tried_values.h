#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "engines/engine.h"

namespace hybridkv {

/// Adds a value that is not there yet.
template <class Value>
void add_value(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// What is searched along an axis unless a space says it: the engine's own value, then those that the axis tries.
/// Pre: the engine has the axis.
template <class Value>
std::vector<Value> tried_values(Value own, const EngineRules& rules, const SearchAxis& axis) {
  const EngineAxis* const found = axis_of(engine_of(rules), axis);
  expects(found != nullptr, "an axis of the engine");
  std::vector<Value> values{own};
  for (const std::int64_t value : found->values) add_value(values, static_cast<Value>(value));
  return values;
}

}  // namespace hybridkv
