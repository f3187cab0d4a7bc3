// Which pack size is best and which are beaten: vLLM PR 35703.
#include "planner/pack_comparison.h"

#include <doctest/doctest.h>

#include <map>

#include "planner/plan.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::vector<CachePlan> qwen_plans(std::vector<std::int64_t> packs, std::int64_t max_model_len = 32'768) {
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  return make_plans(qwen35_397b(), engine, {.max_model_lens = {1024, max_model_len}}, packs).plans;
}

std::map<std::int64_t, std::int64_t> beaten_by(const std::vector<CachePlan>& plans) {
  std::map<std::int64_t, std::int64_t> pairs;
  for (const DominatedPack& pair : compare_packs(plans).dominated)
    pairs[plans[pair.plan].attention_pack_size] = plans[pair.by].attention_pack_size;
  return pairs;
}

}  // namespace

TEST_CASE("golden: N = 3 costs fewest bytes at 32,768 tokens, and the sentence says why") {
  const std::vector<CachePlan> plans = qwen_plans({1, 2, 3, 4, 5, 8, 15});
  const PackComparison comparison = compare_packs(plans);
  CHECK(plans[comparison.best].attention_pack_size == 3);
  CHECK(
      comparison.reason ==
      "N = 3 costs fewest bytes per request of 32,768 tokens in mode align: 670.3 MiB (65 ids of 10.3 MiB, no short "
      "pack and no empty slot; 3 divides the 15 attention layers), against 675.5 MiB at N = 1 (22 ids of 30.7 MiB, no "
      "short pack and no empty slot).");
}

TEST_CASE("golden: packs that divide 15 layers beat those that do not") {
  const auto pairs = beaten_by(qwen_plans({1, 2, 3, 4, 5, 8, 15}));
  CHECK(pairs == std::map<std::int64_t, std::int64_t>{{1, 3}, {2, 3}, {4, 5}, {5, 15}, {8, 15}});
  CHECK(beaten_by(qwen_plans({3, 15})).empty());
}

TEST_CASE("golden: the reason for a beaten pack has the numbers of both") {
  const std::vector<CachePlan> plans = qwen_plans({4, 5});
  const PackComparison comparison = compare_packs(plans);
  REQUIRE(comparison.dominated.size() == 1);
  CHECK(comparison.dominated[0].reason ==
        "N = 5 beats N = 4 in every respect: block 432 against 528 tokens, 670.8 MiB against 717.8 MiB per request of "
        "32,768 tokens, 61.05 against 57.05 requests at once");
}

TEST_CASE("regression: the layers that N divides are all of the model's attention layers, whatever their kinds") {
  // 10 layers with full attention, 2 with a window, 36 states.
  ModelSpec model = hybrid_model("two kinds", 48, full_attention(2, 256, 32), qwen_gdn(16, 64),
                                 [](std::int64_t i) { return i % 4 == 3; });
  for (const std::size_t layer : {3, 27}) model.layers[layer].attention = sliding_attention(2, 256, 1024);
  const EngineSpec engine{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  const auto reason = [&](std::vector<std::int64_t> packs) {
    return compare_packs(make_plans(model, engine, {.max_model_lens = {262'144}}, packs).plans).reason;
  };
  CHECK(reason({2}).find("; 2 divides the 2 sliding_window and the 10 full_attention layers)") != std::string::npos);
  CHECK(reason({5}).find("divides") == std::string::npos);  // the window's pack of 5 holds 2
}

TEST_CASE("edge: one plan is best, equal plans beat nobody, ties go to the smaller block") {
  CHECK(compare_packs(qwen_plans({2})).best == 0);
  CHECK(compare_packs(qwen_plans({2})).dominated.empty());
  CHECK(beaten_by(qwen_plans({3, 3})).empty());
  const std::vector<CachePlan> tied = qwen_plans({5, 15});  // 670.8 MiB both
  CHECK(tied[0].capacity[1].bytes_per_request == tied[1].capacity[1].bytes_per_request);
  CHECK(tied[compare_packs(tied).best].attention_pack_size == 15);
  CHECK_THROWS_AS(compare_packs({}), std::logic_error);
}

TEST_CASE("law: the best pack costs fewest bytes and is beaten by none, a beaten pack is worse in some respect") {
  CHECK(check_plans("pack comparison", 500, SpecSize::real, [](const RandomSpecs& specs, const CachePlan&) {
    EngineSpec engine = specs.engine;
    engine.kernel_block_sizes.clear();
    engine.kernel_alignment_tokens = 1;
    engine.page_alignment_bytes = 1;
    engine.num_blocks = 1'000'000;
    engine.layers_per_group.reset();  // that many packs there may not be
    const std::int64_t packs[] = {1, 2, 3, 5, 8, 16};
    const std::vector<CachePlan> plans = make_plans(specs.model, engine, specs.limits, packs).plans;
    const PackComparison comparison = compare_packs(plans);
    const auto bytes = [](const CachePlan& plan) {
      return std::max_element(plan.capacity.begin(), plan.capacity.end(),
                              [](const auto& a, const auto& b) { return a.max_model_len < b.max_model_len; })
          ->bytes_per_request;
    };
    for (const CachePlan& plan : plans) RC_ASSERT(bytes(plans[comparison.best]) <= bytes(plan));
    for (const DominatedPack& pair : comparison.dominated) {
      RC_ASSERT(pair.plan != comparison.best);
      RC_ASSERT(pair.plan != pair.by);
      RC_ASSERT(bytes(plans[pair.by]) <= bytes(plans[pair.plan]));
    }
  }));
}
