#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace hybridkv {

/// Adds a value that is not there yet. Costs a look at each that is.
template <class Value>
void add_once(std::vector<Value>& values, std::type_identity_t<Value> value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
}

}  // namespace hybridkv
