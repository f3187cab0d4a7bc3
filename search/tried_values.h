#pragma once

#include <cstdint>
#include <vector>

#include "base/add_once.h"
#include "engines/engine.h"

namespace hybridkv {

/// What is searched along an axis unless a space says it: the engine's own value, then those that the axis tries; the
/// first alone where the engine has no such axis.
template <class Value>
std::vector<Value> tried_values(Value own, const EngineRules& rules, const SearchAxis& axis) {
  std::vector<Value> values{own};
  if (const EngineAxis* const found = axis_of(engine_of(rules), axis))
    for (const std::int64_t value : found->values) add_once(values, static_cast<Value>(value));
  return values;
}

}  // namespace hybridkv
