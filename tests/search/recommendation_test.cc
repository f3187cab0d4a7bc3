#include "search/recommendation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "planner/plan.h"
#include "planner/primary_attention.h"
#include "simulator/blocks/plan_geometry.h"
#include "simulator/trace/trace_spec.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

std::function<std::unique_ptr<TraceSource>()> trace_of(const TraceSpec& spec) {
  return [spec] { return open_trace(spec); };
}

TraceSpec copies_of_prompt(std::int64_t tokens, std::int64_t copies) {
  return {.prompts = {{.tokens = tokens, .copies = copies}}};
}

/// Qwen3.5-397B-A17B on two ranks with 40 GiB, as the shipped scenario.
RecommendSpec qwen_397b(const TraceSpec& trace) {
  RecommendSpec spec{.at_length = 32768, .open_trace = trace_of(trace)};
  spec.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  spec.engine = {.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = std::int64_t{40} << 30};
  spec.limits.max_model_lens = {32768};
  return spec;
}

bool is_dominated(const Recommendation& result, std::size_t at) {
  return std::any_of(result.candidates.begin(), result.candidates.end(), [&](const Candidate& other) {
    return other.in_space && other.meets_limits && dominates(other.objectives, result.candidates[at].objectives);
  });
}

const Candidate& plain(const Recommendation& result, std::int64_t pack, CacheMode mode) {
  return *std::find_if(result.candidates.begin(), result.candidates.end(), [&](const Candidate& candidate) {
    const PlannedLayout& layout = result.layout_of(candidate);
    return layout.pack() == pack && layout.mode() == mode && !layout.block_floor() && !candidate.match_unit_tokens &&
           !candidate.retention_tokens;
  });
}

/// A space small enough for every combination of a random scenario.
RecommendSpec small_search(const RandomSpecs& specs) {
  RecommendSpec spec{.model = specs.model, .engine = specs.engine, .limits = specs.limits};
  spec.engine.num_blocks.reset();
  spec.engine.memory_bytes = std::int64_t{8} << 30;
  spec.limits.max_model_lens = {4096};
  spec.at_length = 4096;
  spec.space = {.packs = {1, 2, 3}, .block_floors = {std::nullopt, 256}, .retentions = {std::nullopt, 0}};
  spec.open_trace = trace_of({.synthetic = {.max_prompt_tokens = 16384}, .max_requests = 30});
  return spec;
}

/// Nothing where no layout of the random scenario can run.
std::optional<Recommendation> try_recommend(const RecommendSpec& spec) {
  try {
    return recommend(spec);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("law: on random scenarios no candidate dominates the pick, and the front is what every pair leaves") {
  CHECK(check_times("the pick is on the front", 60, [] {
    const RandomSpecs specs = *random_specs();
    const auto found = try_recommend(small_search(specs));
    if (!found) RC_DISCARD("nothing can run");
    const Recommendation& result = *found;
    RC_ASSERT(result.search == SearchKind::exhaustive);
    RC_ASSERT(result.candidates[result.pick].on_front);
    for (std::size_t i = 0; i < result.candidates.size(); ++i) {
      const Candidate& candidate = result.candidates[i];
      if (!candidate.in_space || !candidate.meets_limits) {
        RC_ASSERT(!candidate.on_front);
        continue;
      }
      const bool equal_before = std::any_of(
          result.candidates.begin(), result.candidates.begin() + static_cast<std::ptrdiff_t>(i),
          [&](const Candidate& other) {
            return other.in_space && other.meets_limits && other.objectives == candidate.objectives;
          });
      RC_ASSERT(candidate.on_front == (!is_dominated(result, i) && !equal_before));
    }
  }));
}

TEST_CASE("law: the numbers of every candidate are those of make_plan and of a simulation alone") {
  RecommendSpec spec = qwen_397b({.max_requests = 200});
  spec.space = {.packs = {1, 3, 4, 5}, .block_floors = {std::nullopt, 512}, .retentions = {std::nullopt, 0}};
  spec.search = SearchKind::exhaustive;
  const Recommendation result = recommend(spec);
  CHECK(result.candidates.size() > 100);
  std::int64_t differing_retention = 0;
  for (std::size_t i = 0; i < result.candidates.size(); i += 7) {
    const Candidate& candidate = result.candidates[i];
    const PlannedLayout& layout = result.layout_of(candidate);
    const EngineSpec& engine = layout.engine;
    const CachePlan plan = make_plan(spec.model, engine, spec.limits);
    CHECK(candidate.objectives.bytes_per_request == plan.capacity.front().bytes_per_request);
    CHECK(candidate.objectives.concurrency == plan.capacity.front().usable_concurrency);
    CacheGeometry geometry = geometry_of(plan, engine);
    geometry.retention_interval_tokens = candidate.retention_tokens;
    geometry.match_unit_tokens = candidate.match_unit_tokens;
    Simulation alone(geometry);
    const auto trace = spec.open_trace();
    for (TraceBatch batch; trace->next(batch);) alone.consume(batch);
    const SimulationStats stats = alone.finish();
    CHECK(candidate.hit_tokens == stats.hit_tokens);
    CHECK(candidate.objectives.reprefilled_tokens == result.workload.repeated_tokens - stats.hit_tokens);
    differing_retention += candidate.retention_tokens.has_value();
  }
  CHECK(differing_retention > 0);
  // Nothing is simulated twice: candidates differ in layout, retention or match unit. A refined search leaves none of
  // these out for the layout that it picks.
  spec.search = SearchKind::refined;
  const Recommendation refined = recommend(spec);
  using Simulated = std::tuple<std::size_t, std::optional<std::int64_t>, std::optional<std::int64_t>>;
  const auto simulated = [](const Recommendation& from) {
    std::set<Simulated> once;
    for (const Candidate& one : from.candidates)
      CHECK(once.emplace(one.layout, one.retention_tokens, one.match_unit_tokens).second);
    return once;
  };
  const std::size_t layout = refined.candidates[refined.pick].layout;
  const std::set<Simulated> some = simulated(refined);
  for (const Simulated& one : simulated(result))
    if (std::get<0>(one) == layout) CHECK(some.contains(one));
  // In other memory the pick is planned anew.
  const PlannedLayout& picked = result.layout_of(result.candidates[result.pick]);
  int memories = 0;
  for (const WhatIf& other : result.what_ifs) {
    if (other.assumption != Assumption::memory) continue;
    EngineSpec engine = picked.engine;
    engine.memory_bytes = static_cast<std::int64_t>(other.value);
    CHECK(other.stated_pick.concurrency ==
          make_plan(spec.model, engine, spec.limits).capacity.front().usable_concurrency);
    ++memories;
  }
  CHECK(memories > 0);
}

TEST_CASE("law: the same recommendation with any number of threads, and again") {
  RecommendSpec spec = qwen_397b({.max_requests = 200});
  spec.space.packs = {1, 3, 5};
  std::vector<Recommendation> results;
  for (const std::int64_t threads : {1, 2, 5}) {
    spec.threads = threads;
    results.push_back(recommend(spec));
  }
  for (const Recommendation& result : results) {
    CHECK(result.pick == results[0].pick);
    CHECK(result.front == results[0].front);
    CHECK(result.candidates == results[0].candidates);
  }
}

TEST_CASE("golden: 370-token prompts never hit the default block of 2096; N = 6 and a match unit of 16 do") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(370, 300));
  spec.space.block_floors = {std::nullopt};
  const Recommendation result = recommend(spec);
  REQUIRE(result.default_candidate);
  const Candidate& of_default = result.candidates[*result.default_candidate];
  CHECK(block_tokens(result.layout_of(of_default)) == 2096);
  CHECK(of_default.hit_tokens == 0);
  CHECK(result.workload.repeated_tokens == 299 * 369);
  CHECK(plain(result, 5, CacheMode::align).hit_tokens == 0);          // block 432
  CHECK(plain(result, 6, CacheMode::align).hit_tokens == 299 * 352);  // block 352
  CHECK(result.candidates[result.pick].hit_tokens >= 299 * 352);
  CHECK(result.search == SearchKind::exhaustive);
}

TEST_CASE("golden: 300 copies of a 2000-token prompt hit 52.62 % at block 1056 and 94.88 % at 272") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(2000, 300));
  spec.space = {.packs = {1, 2, 8}, .block_floors = {std::nullopt}, .modes = {CacheMode::align},
                .retentions = {std::nullopt}, .match_units = std::vector<std::int64_t>{0}};
  const Recommendation result = recommend(spec);
  const auto percent = [&](std::int64_t pack) {
    return 100.0 * static_cast<double>(plain(result, pack, CacheMode::align).hit_tokens) / 600'000;
  };
  CHECK(percent(2) == doctest::Approx(52.62).epsilon(0.0001));
  CHECK(percent(8) == doctest::Approx(94.88).epsilon(0.0001));
  CHECK(result.candidates.size() == 3);
}

TEST_CASE("golden: packs 3 and 5 of 15 layers beat 4 in bytes and concurrency, 5 also in the block") {
  RecommendSpec spec = qwen_397b({.max_requests = 300});
  spec.space = {.packs = {3, 4, 5}, .block_floors = {std::nullopt}, .modes = {CacheMode::align}};
  const Recommendation result = recommend(spec);
  const Candidate& three = plain(result, 3, CacheMode::align);
  const Candidate& four = plain(result, 4, CacheMode::align);
  const Candidate& five = plain(result, 5, CacheMode::align);
  CHECK(three.objectives.bytes_per_request < four.objectives.bytes_per_request);
  CHECK(dominates(five.objectives, four.objectives));
  CHECK_FALSE(four.on_front);
  CHECK(result.layout_of(result.candidates[result.pick]).pack() != 4);
  REQUIRE(result.default_candidate);  // N = 1 is compared with although the space leaves it out
  CHECK_FALSE(result.candidates[*result.default_candidate].in_space);
  CHECK_FALSE(result.candidates[*result.default_candidate].on_front);
}

TEST_CASE("golden: reduced searches of the main scenario pick what the exhaustive one picks") {
  for (const std::int64_t requests : {150, 300}) {
    RecommendSpec spec = qwen_397b({.max_requests = requests});
    spec.space.packs = {1, 3, 4, 5, 15};
    spec.space.block_floors = {std::nullopt, 512, 2048};
    std::size_t layouts_with_floors = 0;
    const auto pick = [&](SearchKind kind) {
      spec.search = kind;
      const Recommendation result = recommend(spec);
      CHECK(result.search == kind);
      CHECK((result.simulations < result.combinations) == (kind != SearchKind::exhaustive));
      // Packs are shown side by side, also those that the plan alone beats; a floor beside them is not.
      std::set<std::int64_t> packs;
      std::set<std::size_t> floored;
      for (const Candidate& candidate : result.candidates) {
        const PlannedLayout& layout = result.layout_of(candidate);
        if (layout.block_floor()) floored.insert(candidate.layout);
        else if (layout.mode() == spec.engine.cache_mode) packs.insert(layout.pack());
      }
      CHECK(packs == std::set(spec.space.packs.begin(), spec.space.packs.end()));
      if (kind == SearchKind::refined) layouts_with_floors = floored.size();
      if (kind == SearchKind::pruned) CHECK(floored.size() < layouts_with_floors);
      return result.candidates[result.pick].objectives;
    };
    const Objectives exhaustive = pick(SearchKind::exhaustive);
    CHECK(pick(SearchKind::refined) == exhaustive);
    CHECK(pick(SearchKind::pruned) == exhaustive);
  }
}

TEST_CASE("edge: limits that nothing meets say what would") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(370, 3));
  spec.space.block_floors = {std::nullopt};
  spec.min_concurrency = 80;
  CHECK_THROWS_WITH_AS(recommend(spec),
                       doctest::Contains("71.12 (N = 15, block 144, mode none); it takes 48308797440 bytes"),
                       InputError);
  // What the message promises holds, and a byte less does not do.
  spec.engine.memory_bytes = 48'308'797'440;
  const Recommendation enough = recommend(spec);
  CHECK(enough.candidates[enough.pick].objectives.concurrency >= 80);
  spec.engine.memory_bytes -= 1;
  CHECK_THROWS_AS(recommend(spec), InputError);
  spec.min_concurrency.reset();
  spec.min_kernel_block = 8192;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("the largest is 4096"), InputError);
  // The largest there is meets a limit of as many tokens.
  spec.min_kernel_block = 4096;
  const Recommendation largest = recommend(spec);
  const CachePlan& picked = largest.layout_of(largest.pick).plan;
  CHECK(primary_attention(picked)->kernel_block_size_tokens == 4096);
}

TEST_CASE("edge: nothing to replay, and a fixed number of blocks") {
  RecommendSpec spec = qwen_397b({.max_requests = 0});
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("has no requests"), InputError);
  spec = qwen_397b(copies_of_prompt(370, 3));
  spec.engine.num_blocks = 1000;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("no common limit"), SpecError);
}

TEST_CASE("edge: a default that cannot run is left out with its reason, others are still compared") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(3000, 20));
  spec.engine.max_num_batched_tokens = 1024;  // below the default block of 2096
  spec.space.block_floors = {std::nullopt};
  const Recommendation result = recommend(spec);
  CHECK_FALSE(result.default_candidate);
  REQUIRE(result.default_refused);
  CHECK(std::string(result.default_refused->what()).find("2096") != std::string::npos);
  CHECK_FALSE(result.impossible.empty());
  CHECK(block_tokens(result.layout_of(result.candidates[result.pick])) <= 1024);
}

TEST_CASE("edge: beside a default without any caching the pick is held to the concurrency of mode align") {
  RecommendSpec spec = qwen_397b({.max_requests = 300});
  spec.engine.cache_mode = CacheMode::none;
  spec.space = {.packs = {1, 3, 5}, .block_floors = {std::nullopt}, .modes = {CacheMode::none, CacheMode::align}};
  const Recommendation result = recommend(spec);
  REQUIRE(result.default_candidate);
  REQUIRE(result.reference_candidate);
  const Candidate& of_default = result.candidates[*result.default_candidate];
  const Candidate& reference = result.candidates[*result.reference_candidate];
  CHECK(result.layout_of(of_default).mode() == CacheMode::none);
  CHECK(result.layout_of(reference).mode() == CacheMode::align);
  CHECK(result.layout_of(reference).pack() == 1);
  CHECK(result.least_concurrency == doctest::Approx(0.95 * reference.objectives.concurrency));
  CHECK(of_default.hit_tokens == 0);
  CHECK(result.layout_of(result.candidates[result.pick]).mode() == CacheMode::align);
  // Without mode align in the space the default is held to its own.
  spec.space.modes = {CacheMode::none};
  const Recommendation alone = recommend(spec);
  CHECK(alone.reference_candidate == alone.default_candidate);
}

TEST_CASE("law: without anything shared the pick is among the fewest bytes, and no-reuse says so beforehand") {
  RecommendSpec spec = qwen_397b({.prompts = {{.tokens = 3000}, {.tokens = 3000}}});
  spec.space.block_floors = {std::nullopt};
  const Recommendation none = recommend(spec);
  CHECK(none.workload.repeated_tokens == 0);
  CHECK(none.layout_of(none.candidates[none.pick]).mode() == CacheMode::none);
  spec.open_trace = trace_of(copies_of_prompt(3000, 50));
  const Recommendation shared = recommend(spec);
  const auto what_if = std::find_if(shared.what_ifs.begin(), shared.what_ifs.end(), [](const WhatIf& one) {
    return one.assumption == Assumption::no_reuse;
  });
  REQUIRE(what_if->pick);
  CHECK(shared.layout_of(shared.candidates[*what_if->pick]).mode() == CacheMode::none);
  CHECK(what_if->objectives.bytes_per_request == none.candidates[none.pick].objectives.bytes_per_request);
}

TEST_CASE("regression: a layout whose block no match unit divides cannot run, the others are compared") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(3000, 20));
  spec.space = {.packs = {1, 3}, .block_floors = {std::nullopt}, .modes = {CacheMode::align},
                .match_units = std::vector<std::int64_t>{64}};
  const Recommendation result = recommend(spec);  // 64 divides 704, not 2096
  REQUIRE(result.impossible.size() == 1);
  CHECK(result.impossible[0].engine.attention_pack_size == 1);
  CHECK(result.impossible[0].refusal.path() == "geometry.match_unit_tokens");
  CHECK(result.layout_of(result.candidates[result.pick]).pack() == 3);
  CHECK(result.match_unit(result.candidates[result.pick]) == 64);
  spec.space.match_units = std::vector<std::int64_t>{7};
  CHECK_THROWS_WITH_AS(recommend(spec),
                       "geometry.match_unit_tokens: none of 7 divides the block of 2096 tokens; these do, for example: "
                       "16 (so for the first of 2 combinations searched, none of which can run)", SpecError);
}

TEST_CASE("regression: packs of more layers than the model has are refused") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(3000, 3));
  for (const std::int64_t pack : {16, 99, 0}) {
    spec.space.packs = {1, pack};
    CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("has 15 attention layers to pack; take 1 to 15"),
                         SpecError);
  }
  spec.space.packs = {15};
  CHECK(recommend(spec).layouts.front().pack() == 15);
}

TEST_CASE("law: beside a pick that packs stands the best of N = 1, picked by the same rule") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(3000, 20));
  spec.space.modes = {CacheMode::align};
  for (const SearchKind kind : {SearchKind::exhaustive, SearchKind::refined}) {
    spec.search = kind;
    spec.space.packs = {1, 3, 5};
    const Recommendation all = recommend(spec);
    REQUIRE(all.layout_of(all.candidates[all.pick]).pack() > 1);
    REQUIRE(all.unpacked_pick);
    spec.space.packs = {1};
    const Recommendation alone = recommend(spec);
    CHECK_FALSE(alone.unpacked_pick);  // that is the pick
    CHECK(all.candidates[*all.unpacked_pick].objectives == alone.candidates[alone.pick].objectives);
    spec.space.packs = {3, 5};
    CHECK_FALSE(recommend(spec).unpacked_pick);
  }
}

TEST_CASE("edge: requests that the engine refuses for their length are counted and left out") {
  RecommendSpec spec = qwen_397b({.prompts = {{.tokens = 3000, .copies = 4}, {.tokens = 8192, .copies = 2}}});
  spec.space = {.packs = {1, 3}, .block_floors = {std::nullopt}, .modes = {CacheMode::align}};
  spec.limits.max_model_lens = {8192};
  spec.at_length = 32768;  // what is compared changes nothing of what is refused
  const Recommendation result = recommend(spec);
  CHECK(result.max_model_len == 8192);
  CHECK(result.workload.requests == 6);
  CHECK(result.workload.too_long_requests == 2);
  CHECK(result.workload.prompt_tokens == 4 * 3000);
  CHECK(result.workload.repeated_tokens == 3 * 2999);
  for (const Candidate& candidate : result.candidates) CHECK(candidate.taken_prompt_tokens == 4 * 3000);
  spec.limits.max_model_lens = {8193};
  CHECK(recommend(spec).workload.too_long_requests == 0);
  spec.limits.max_model_lens = {3000};
  CHECK_THROWS_WITH_AS(recommend(spec),
                       doctest::Contains("limits.max_model_len: 3,000 tokens: an engine refuses all 6"),
                       SpecError);
}

TEST_CASE("law: progress goes from no simulation to all of them, however few batches they are run in") {
  RecommendSpec spec = qwen_397b(copies_of_prompt(370, 20));
  spec.space = {.packs = {1, 5, 6}, .block_floors = {std::nullopt}, .modes = {CacheMode::align}};
  spec.search = SearchKind::exhaustive;
  std::vector<std::int64_t> done, totals;
  spec.on_progress = [&](const RecommendProgress& at) {
    if (at.what != "simulate") return;
    done.push_back(at.done);
    totals.push_back(at.total);
  };
  const Recommendation result = recommend(spec);
  REQUIRE_FALSE(done.empty());
  CHECK(done.front() == 0);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(done.back() == result.simulations);
  for (const std::int64_t total : totals) CHECK(total == result.simulations);
}
