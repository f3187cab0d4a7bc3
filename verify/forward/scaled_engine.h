#pragma once

#include <cstdint>
#include <vector>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "planner/token_state_split.h"

namespace hybridkv {

/// The engine of a plan with what a single rank and a small model leave of it: blocks, rows and pools as the cases
/// need them.
EngineSpec scaled_engine(const ModelSpec& model, const EngineSpec& engine, CacheMode mode,
                         std::int64_t speculative_tokens);

/// A strategy of states in pages of so many tokens.
struct TreeVariant {
  TreeStrategy strategy;
  std::int64_t page_tokens;
};

/// What an engine with a radix tree sets, or what it could; strategy by strategy.
std::vector<TreeVariant> tree_variants(const EngineSpec& engine);

/// The same as scaled_engine of an engine with a radix tree, with pools for all cases.
EngineSpec scaled_tree_engine(const EngineSpec& engine, const TreeVariant& variant);

}  // namespace hybridkv
