#pragma once

#include "simulator/blocks/block_rules.h"

namespace hybridkv {

/// The plain rules, but that each kind of layers says by itself which prefixes it can go on from: full attention all
/// whose tokens are cached, a window those whose last `window` tokens are, states those at whose end one is kept. The
/// longest that all of them have is the hit. The plain rules find a window's blocks as those of full attention.
/// Source: Jenga get_possible_prefix, read. Drafters that drop a block, and match units, are not in the paper: there
/// prefixes are found by the plain rules.
class PerKindRules : public BlockRules {
 public:
  constexpr PerKindRules() = default;
  std::unique_ptr<BlockSteps> start(CacheParts& cache) const override;
};

extern const PerKindRules per_kind_rules;

}  // namespace hybridkv
