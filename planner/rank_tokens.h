#pragma once

#include <cstdint>

#include "planner/arrangement.h"

namespace hybridkv {

/// Tokens of a request of `tokens` whose K and V a layer still needs and this rank keeps: ranks that share the tokens
/// of full attention have ceil(tokens / ranks) each. Pre: the spec has attention.
std::int64_t live_tokens_on_rank(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens);

}  // namespace hybridkv
