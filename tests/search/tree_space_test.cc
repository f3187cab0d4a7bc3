#include "search/tree_space.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "engines/sglang/rules.h"
#include "planner/plan.h"
#include "planner/tree_settings.h"
#include "planner/tree_split.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/trace/trace_spec.h"
#include "simulator/tree/plan_tree.h"
#include "simulator/tree/tree_replay.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Qwen3.5-397B-A17B on two ranks with 40 GiB: a state is 96,030,720 bytes, a token 15,360.
RecommendSpec tree_qwen_397b(const TraceSpec& trace) {
  RecommendSpec spec;
  spec.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  spec.engine = {.rules = &rules_of_sglang_0_5_23, .tensor_parallel = 2, .strategy = Strategy::dual_pool,
                 .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{40} << 30};
  spec.limits.max_model_lens = {32768};
  spec.at_length = 32768;
  spec.open_trace = [trace] { return open_trace(trace); };
  return spec;
}

const Candidate& pick_of(const Recommendation& result) { return result.candidates[result.pick]; }

const EngineSpec& engine_of(const Recommendation& result, const Candidate& candidate) {
  return result.layout_of(candidate).engine;
}

bool may_be_picked(const Candidate& candidate) { return candidate.in_space && candidate.meets_limits; }

/// Is no candidate better than the pick by the rule of docs/recommend.md, written out plainly?
void require_best(const Recommendation& result, const PickRule& rule) {
  std::vector<const Candidate*> kept;
  for (const std::size_t at : result.front) kept.push_back(&result.candidates[at]);
  const auto keep = [&](auto wanted) { std::erase_if(kept, [&](const Candidate* one) { return !wanted(*one); }); };
  double most = 0;
  for (const Candidate* one : kept) most = std::max(most, one->objectives.concurrency);
  keep([&](const Candidate& one) {
    return one.objectives.concurrency >= std::min(most, result.least_concurrency);
  });
  double tokens = 1e300, bytes = 1e300;
  for (const Candidate* one : kept) tokens = std::min(tokens, double(one->objectives.reprefilled_tokens));
  keep([&](const Candidate& one) {
    return double(one.objectives.reprefilled_tokens) <= tokens + rule.alike * double(result.workload.prompt_tokens);
  });
  for (const Candidate* one : kept) bytes = std::min(bytes, double(one->objectives.bytes_per_request));
  keep([&](const Candidate& one) {
    return double(one.objectives.bytes_per_request) <= bytes + rule.alike * bytes;
  });
  const Candidate& pick = pick_of(result);
  RC_ASSERT(std::find(kept.begin(), kept.end(), &pick) != kept.end());
  for (const Candidate* one : kept) RC_ASSERT(pick.settings_changed <= one->settings_changed);
}

}  // namespace

TEST_CASE("golden: copies of a prompt of 1000 tokens pick the lazy strategy where most run, checked by hand") {
  const RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 20}}});
  const Recommendation result = recommend(spec);
  REQUIRE(result.default_candidate);
  // Copies hit floor(1000 / 64) * 64 = 960 of the 999 tokens that can: 19 * 39 are computed again.
  const Objectives& of_default = result.candidates[*result.default_candidate].objectives;
  CHECK(of_default == Objectives{19 * 39, 5 * 96'030'720 + 32768 * 15'360, 42});  // 210 // 5
  // S = 4 has the same hits in fewer bytes. 48 requests take 192 slots, one for the dummy and 1,572,864 tokens,
  // 42.69 GB of 42.95; 49 would take 43.58. At the default's ratio 45 run, 1,477,030 // 32,768, which 48 beat.
  CHECK(tree_strategy(engine_of(result, pick_of(result))) == TreeStrategy::extra_buffer_lazy);
  CHECK(pick_of(result).objectives == Objectives{19 * 39, 4 * 96'030'720 + 32768 * 15'360, 48});
  CHECK(pick_of(result).settings_changed == 2);
  CHECK(result.least_concurrency == doctest::Approx(0.95 * 42));
  CHECK(result.workload.repeated_tokens == 19 * 999);
  for (const Candidate& candidate : result.candidates) {
    const bool hits = result.layout_of(candidate).mode() != CacheMode::none &&
                      tree_strategy(engine_of(result, candidate)) != TreeStrategy::no_buffer;
    CHECK(candidate.hit_tokens == (hits ? 19 * 960 : 0));  // no_buffer has its only state at 1000, past the limit
  }
}

TEST_CASE("golden: where more requests must run another ratio is picked, the best that there is at most") {
  RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 20}}});
  spec.space.strategies = {TreeStrategy::extra_buffer};
  spec.space.modes = {CacheMode::align};
  spec.min_concurrency = 43;  // the plan says that ratio 0.9349 lets 43 run instead of 42
  const Recommendation result = recommend(spec);
  CHECK(pick_of(result).objectives.concurrency == 43);
  CHECK(engine_of(result, pick_of(result)).state_memory_ratio == doctest::Approx(0.9349).epsilon(0.001));
  CHECK_FALSE(result.candidates[*result.default_candidate].meets_limits);
  spec.min_concurrency = 44;
  CHECK_THROWS_WITH_AS(recommend(spec),
                       doctest::Contains("no setting runs 44 requests of 32768 tokens at once in"), InputError);
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("the most is 43 (mode align"), InputError);
}

TEST_CASE("law: among the ratios is the largest that runs as many requests as a pick has to") {
  RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 3}}});
  spec.space = {.modes = {CacheMode::align}, .page_sizes = {1}};
  for (const std::int64_t length : {2048, 32768}) {
    spec.at_length = length;
    const Recommendation result = recommend(spec);
    for (const TreeStrategy strategy :
         {TreeStrategy::no_buffer, TreeStrategy::extra_buffer, TreeStrategy::extra_buffer_lazy}) {
      double largest = 0;
      for (const Candidate& candidate : result.candidates)
        if (tree_strategy(engine_of(result, candidate)) == strategy &&
            candidate.objectives.concurrency >= result.least_concurrency)
          largest = std::max(largest, memory_ratio(engine_of(result, candidate)));
      EngineSpec engine = spec.engine;
      engine.own.set(tree_key::mamba_radix_cache_strategy, strategy);
      const auto running = [&](double ratio) {
        engine.state_memory_ratio = ratio;
        return double(TreeSpace(spec, {}).running(make_plan(spec.model, engine, spec.limits), length));
      };
      CAPTURE(largest);
      CHECK(running(largest) >= result.least_concurrency);
      CHECK(running(largest * 1.0003) < result.least_concurrency);
    }
  }
}

TEST_CASE("edge: no more requests count than the engine runs, whatever the pools hold") {
  RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 3}}});
  spec.engine.max_running_requests = 10;
  spec.space.modes = {CacheMode::align};
  for (const Candidate& candidate : recommend(spec).candidates)
    CHECK(candidate.objectives.concurrency <= 10);
}

TEST_CASE("law: numbers of every candidate are those of make_plan and of a replay alone") {
  RecommendSpec spec = tree_qwen_397b({.max_requests = 120});
  spec.engine.memory_bytes = std::int64_t{12} << 30;
  const Recommendation result = recommend(spec);
  CHECK(result.candidates.size() > 40);
  CHECK(result.planned_layouts == result.combinations + result.merged_layouts + std::ssize(result.impossible));
  for (std::size_t i = 0; i < result.candidates.size(); i += 5) {
    const Candidate& candidate = result.candidates[i];
    const CachePlan plan = make_plan(spec.model, engine_of(result, candidate), spec.limits);
    const TokenStateSplit& split = plan.tree_pools->split;
    CHECK(candidate.objectives.bytes_per_request == plan.capacity.front().bytes_per_request);
    const std::int64_t pages = (32768 + plan.tree_pools->page_tokens - 1) / plan.tree_pools->page_tokens;
    CHECK(candidate.objectives.concurrency ==
          double(std::min({split.state_slots / split.state_slots_per_request,
                           split.token_slots / (pages * plan.tree_pools->page_tokens), split.max_running})));
    if (plan.cache_mode == CacheMode::none) continue;
    TreeReplay replay(tree_settings_of(plan, spec.model, engine_of(result, candidate)));
    TreeStats stats;
    const auto trace = spec.open_trace();
    for (TraceBatch batch; trace->next(batch);)
      for (const TraceRequest& request : batch.requests)
        if (!refused_for_length(request.input_length, 32768)) stats.add(replay.run(request, batch.prompt(request)));
    CHECK(candidate.hit_tokens == stats.hit_tokens);
    CHECK(candidate.objectives.reprefilled_tokens == result.workload.repeated_tokens - stats.hit_tokens);
    CHECK(candidate.checkpoints_evicted == stats.checkpoints_evicted);
  }
}

TEST_CASE("law: on random questions the front is what every pair leaves, and nothing beats the pick by its rule") {
  CHECK(check_times("the pick is the best of the front", 12, [] {
    RecommendSpec spec = tree_qwen_397b(
        {.synthetic = {.max_prompt_tokens = 8192}, .max_requests = *rc::gen::inRange<std::int64_t>(2, 40)});
    spec.engine.memory_bytes = *rc::gen::inRange<std::int64_t>(3, 24) << 30;
    spec.at_length = *rc::gen::element<std::int64_t>(1024, 8192, 32768);
    spec.engine.cache_mode = *rc::gen::element(CacheMode::align, CacheMode::none);
    spec.rule.most_given_up = *rc::gen::element(0.0, 0.05, 0.5);
    if (*rc::gen::arbitrary<bool>()) spec.driver.kind = DriverKind::closed_loop;
    if (*rc::gen::arbitrary<bool>()) spec.space.page_sizes = {1};
    if (*rc::gen::arbitrary<bool>()) spec.space.ratios = {0.2, 0.9, 3};
    const Recommendation result = recommend(spec);
    RC_ASSERT(pick_of(result).on_front);
    for (std::size_t i = 0; i < result.candidates.size(); ++i) {
      const Candidate& candidate = result.candidates[i];
      bool left = may_be_picked(candidate);
      for (std::size_t other = 0; other < result.candidates.size(); ++other) {
        if (!may_be_picked(result.candidates[other])) continue;
        const Objectives& objectives = result.candidates[other].objectives;
        left = left && !dominates(objectives, candidate.objectives) &&
               (other >= i || objectives != candidate.objectives);
      }
      RC_ASSERT(candidate.on_front == left);
    }
    require_best(result, spec.rule);
  }));
}

TEST_CASE("edge: a default without a tree is compared with the same with one; one outside the space is shown") {
  RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 20}}});
  spec.engine.cache_mode = CacheMode::none;
  const Recommendation result = recommend(spec);
  REQUIRE(result.default_candidate);
  REQUIRE(result.reference_candidate);
  CHECK(result.candidates[*result.default_candidate].hit_tokens == 0);
  CHECK(result.layout_of(*result.reference_candidate).mode() == CacheMode::align);
  CHECK(result.least_concurrency == doctest::Approx(0.95 * 42));
  spec.engine.cache_mode = CacheMode::align;
  spec.space.strategies = {TreeStrategy::no_buffer};
  const Recommendation other = recommend(spec);
  REQUIRE(other.default_candidate);
  CHECK_FALSE(other.candidates[*other.default_candidate].in_space);
  for (const std::size_t at : other.front)
    CHECK(tree_strategy(other.layout_of(at).engine) == (other.layout_of(at).mode() == CacheMode::none
                                                              ? TreeStrategy::extra_buffer
                                                              : TreeStrategy::no_buffer));
}

TEST_CASE("edge: what cannot run is said of each combination, and of all where none can") {
  RecommendSpec spec = tree_qwen_397b({.prompts = {{.tokens = 1000, .copies = 2}}});
  spec.engine.own.set(tree_key::overlap_schedule, false);
  const Recommendation result = recommend(spec);  // lazy needs overlap
  CHECK_FALSE(result.impossible.empty());
  CHECK(std::all_of(result.impossible.begin(), result.impossible.end(), [](const ImpossibleLayout& one) {
    return one.refusal.path() == "engine.mamba_radix_cache_strategy";
  }));
  spec.space.modes = {CacheMode::align};
  spec.space.strategies = {TreeStrategy::extra_buffer_lazy};
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("none of which can run"), SpecError);
  spec = tree_qwen_397b({.max_requests = 0});
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("has no requests"), InputError);
}
