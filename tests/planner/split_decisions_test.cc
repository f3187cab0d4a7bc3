// What is derived of the slots and tokens beside a radix tree.
#include "planner/split_decisions.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "tests/planner/at_32k.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The slots that a request holds, and why.
Decision held_slots(const EngineSpec& engine) {
  const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
  const auto held = std::find_if(plan.derivation.begin(), plan.derivation.end(),
                                 [](const Decision& decision) { return decision.result.symbol == "S"; });
  REQUIRE(held != plan.derivation.end());
  return *held;
}

}  // namespace

TEST_CASE("golden: slots of a request are explained one by one, also the one that decoding does not lock") {
  EngineSpec engine{.rules = &rules_of_sglang_0_5_23,
                    .tensor_parallel = 2,
                    .strategy = Strategy::dual_pool,
                    .cache_mode = CacheMode::align,
                    .memory_bytes = 40 * gib};
  const std::string locked = "3: the running state, that of the tree's node, and one on its way to the tree; and two "
                             "tracking slots";
  CHECK(held_slots(engine).result == Term{"S", std::int64_t(5), "slots"});
  CHECK(held_slots(engine).rule == locked);
  engine.own.set(tree_key::skip_decode_lock, true);
  CHECK(held_slots(engine).result == Term{"S", std::int64_t(4), "slots"});
  CHECK(held_slots(engine).rule == locked + "; less one, which decoding does not lock");
}
