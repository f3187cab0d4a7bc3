// Rules of another engine are those nearest to its own, and what differs: one class.
#include "simulator/blocks/block_rules.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// A release like vLLM 0.33 but for one rule: it has no match units.
class WholeBlocks final : public MatchUnitRules {
 public:
  bool takes_match_unit(const CacheGeometry&) const override { return false; }
};

/// Like the plain rules, but the second copy of a prompt finds nothing: no state is kept where prompts part.
class NoBranches final : public BlockRules {
 public:
  std::unique_ptr<BlockSteps> start(CacheParts& cache) const override { return std::make_unique<Steps>(cache); }

 private:
  class Steps final : public BlockSteps {
   public:
    using BlockSteps::BlockSteps;
    std::int64_t branch(const PrefixHit&) const override { return 0; }
    std::int64_t first_chunk(const ChunkQuestion& asked, const PrefixHit&, std::int64_t budget) const override {
      return next_chunk(asked, budget);
    }
  };
};

std::int64_t hit_tokens(const CacheGeometry& geometry, const TraceBatch& batch) {
  return run(geometry, {}, batch).stats.hit_tokens;
}

}  // namespace

TEST_CASE("law: a release derived from 0.33 replays as it does where the one rule that differs says nothing") {
  const WholeBlocks whole_blocks;
  const TraceBatch batch = batch_of({{{1, 700}, {2, 300}}, {{1, 700}, {3, 200}}, {{1, 700}, {2, 300}}});
  const CacheGeometry without_unit = geometry_033(512, 200, 1);
  CacheGeometry with_unit = without_unit;
  with_unit.match_unit_tokens = 64;
  CacheGeometry derived = with_unit;
  derived.rules.blocks = &whole_blocks;
  CHECK(hit_tokens(derived, batch) == hit_tokens(without_unit, batch));
  CHECK(hit_tokens(with_unit, batch) > hit_tokens(without_unit, batch));
  CHECK(derived.match_unit() == 512);
  CHECK_FALSE(derived.has_partial_tails());
}

TEST_CASE("law: steps derived from the plain ones change what a cache does") {
  const NoBranches no_branches;
  const TraceBatch batch = batch_of({{{1, 700}, {2, 900}}, {{1, 700}, {3, 900}}, {{1, 700}, {4, 900}}});
  CacheGeometry geometry{.block_size_tokens = 512, .num_blocks = 200, .state_groups = 1};
  CHECK(hit_tokens(geometry, batch) == 512);  // the third prompt resumes where the first two parted
  geometry.rules.blocks = &no_branches;
  CHECK(hit_tokens(geometry, batch) == 0);
}
