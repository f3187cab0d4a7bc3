#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/engine.h"

namespace hybridkv {

/// Adds a value that is not there yet.
template <class Value>
void add_value(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// What is searched along an axis unless a space says it: the engine's own value, then those that the axis tries; the
/// first alone where the engine has no such axis.
template <class Value>
std::vector<Value> tried_values(Value own, const EngineRules& rules, const SearchAxis& axis) {
  std::vector<Value> values{own};
  if (const EngineAxis* const found = axis_of(engine_of(rules), axis))
    for (const std::int64_t value : found->values) add_value(values, static_cast<Value>(value));
  return values;
}

}  // namespace hybridkv
