#pragma once

#include <string_view>

#include "planner/rule_of.h"

namespace hybridkv {

/// Where the rules of engines with blocks come from, most of them functions of vLLM; strategies that are others' are
/// cited by their names.
std::string_view source_of_blocks(RuleOf rule);

}  // namespace hybridkv
