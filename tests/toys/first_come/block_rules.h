#pragma once

#include "simulator/blocks/block_rules.h"

namespace hybridkv::testing {

/// The plain rules, but the block that came first goes first: a hit puts nothing off.
class FirstComeRules final : public BlockRules {
 public:
  constexpr FirstComeRules() = default;
  std::unique_ptr<VictimChooser> victims(const CacheParts& cache) const override;
};

extern const FirstComeRules first_come_rules;

}  // namespace hybridkv::testing
