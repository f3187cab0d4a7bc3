// The case of drafts, with other numbers of them than the three that a forward pass takes.
#include "verify/forward/forward_steps.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "planner/plan.h"
#include "tests/verify/forward/forward_checks.h"
#include "verify/forward/forward_geometry.h"
#include "verify/forward/scaled_engine.h"

namespace hybridkv {
namespace {

/// Blocks of 16 tokens for K and V as for states, with room for the case.
CachePlan plan_of_drafts(const ModelSpec& model, std::int64_t drafts) {
  EngineSpec engine = scaled_engine(model, {.strategy = Strategy::compact_slots}, CacheMode::align, drafts);
  engine.num_blocks = forward_pool_blocks(make_plan(model, engine, {.max_model_lens = {1}}));
  return make_plan(model, engine, {.max_model_lens = {1}});
}

/// What the case shows of two attention and two gdn layers.
ForwardResult run_with_drafts(std::int64_t drafts) {
  const ModelSpec model = testing::four_layers();
  const CachePlan plan = plan_of_drafts(model, drafts);
  REQUIRE(forward_geometry(plan).block_size_tokens == 16);
  const auto network = std::make_shared<const ForwardNetwork>(make_network(model, plan, 16, 1));
  ForwardReferences references(network);
  const std::vector<BoundView> views = bind_views(plan);
  const std::vector<AttentionBackend> backends{AttentionBackend::paged};
  return run_forward_case(ForwardCase::drafts, {plan, *network, references, views, backends});
}

TEST_CASE("edge: a step with a single draft keeps two tokens at most") {
  const ForwardResult result = run_with_drafts(1);
  CHECK_MESSAGE(result.status == ForwardStatus::passed, result.message);
  // Of eight steps of two tokens 2, 1, 2, 1, 2, 2, 1 and 2 are kept, behind a prompt of 2 * 16 - 7.
  CHECK(result.rejected == 8 * 2 - 13);
  CHECK(result.tokens == 25 + 13);
}

TEST_CASE("edge: a step whose last draft fills a block takes no state behind that block") {
  // Behind a prompt of 25 tokens the eight steps keep 2, 1, 4, 1, 3, 2, 1 and 4. With three drafts the last one ends at
  // token 25 + 14 + 4 = 43, with eight at 25 + 14 + 9 = 48, where the third block does. So the states of both layers
  // move twice: behind the first block in the prompt, and behind the second with a step.
  for (const std::int64_t drafts : {3, 8}) {
    CAPTURE(drafts);
    const ForwardResult result = run_with_drafts(drafts);
    CHECK_MESSAGE(result.status == ForwardStatus::passed, result.message);
    CHECK(result.copies == 2 * 2);
  }
}

}  // namespace
}  // namespace hybridkv
