// A server with slots, searched, against every setting planned and replayed by hand.
#include "search/slot_space.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "engines/llama_cpp/rules.h"
#include "planner/capacity.h"
#include "planner/plan.h"
#include "planner/tensor_pool_rules.h"
#include "planner/row_settings.h"
#include "simulator/slots/slot_replay.h"
#include "simulator/trace/trace_spec.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t length_of_slots = 16384;

/// Qwen3.5-397B-A17B on two ranks: a row is 96,030,720 bytes, a cell 15,360.
RecommendSpec slots_of_397b(const TraceSpec& trace, std::int64_t memory_bytes) {
  RecommendSpec spec;
  spec.model = qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64));
  spec.engine = {.rules = &rules_of_llama_cpp, .tensor_parallel = 2, .strategy = Strategy::sequence_rows,
                 .cache_mode = CacheMode::align, .memory_bytes = memory_bytes};
  spec.limits.max_model_lens = {length_of_slots};
  spec.at_length = length_of_slots;
  spec.open_trace = [trace] { return open_trace(trace); };
  return spec;
}

/// One setting by hand.
struct SlotChoice {
  std::int64_t slots = 4, checkpoints = 32, step = 8192, cache_ram = 8192;
  Objectives objectives = {};

  std::int64_t changes() const {
    return (slots != 4) + (checkpoints != 32) + (checkpoints > 0 && step != 8192) + (cache_ram != 8192);
  }
};

/// Plans and replays it; false where it does not start.
bool weigh(SlotChoice& choice, const RecommendSpec& spec, std::int64_t repeated_tokens) {
  EngineSpec engine = spec.engine;
  engine.max_running_requests = choice.slots;
  engine.own.set(row_key::kv_unified, true);
  engine.own.set(row_key::ctx_checkpoints, choice.checkpoints);
  engine.own.set(row_key::checkpoint_min_step, choice.step);
  engine.own.set(row_key::cache_ram, choice.cache_ram);
  std::optional<CachePlan> plan;
  try {
    plan = make_plan(spec.model, engine, spec.limits);
  } catch (const SpecError&) {
    return false;
  }
  SlotReplay replay(slot_settings_of(*plan));
  std::int64_t hits = 0;
  TraceBatch batch;
  for (const auto trace = spec.open_trace(); trace->next(batch);)
    for (const TraceRequest& request : batch.requests)
      if (request.input_length < length_of_slots) hits += replay.run(request, batch.prompt(request)).hit_tokens;
  const CapacityPlan& capacity = plan->capacity.front();
  choice.objectives = {repeated_tokens - hits, capacity.bytes_per_request, capacity.usable_concurrency};
  return true;
}

std::vector<SlotChoice> all_choices(const SearchSpace& space, const RecommendSpec& spec, std::int64_t repeated_tokens) {
  std::vector<SlotChoice> all;
  for (const std::int64_t slots : space.slots)
    for (const std::int64_t checkpoints : space.slot_checkpoints)
      for (const std::int64_t step : space.checkpoint_steps) {
        if (checkpoints == 0 && step != space.checkpoint_steps.front()) continue;
        for (const std::int64_t cache_ram : space.cache_rams) {
          SlotChoice choice{slots, checkpoints, step, cache_ram};
          if (weigh(choice, spec, repeated_tokens)) all.push_back(choice);
        }
      }
  return all;
}

/// The rule of docs/recommend.md, written out.
SlotChoice best_of(std::vector<SlotChoice> kept, const RecommendSpec& spec, std::int64_t prompt_tokens) {
  const auto of_default = std::find_if(kept.begin(), kept.end(), [](const SlotChoice& one) { return !one.changes(); });
  const double reference = of_default == kept.end() ? 0 : of_default->objectives.concurrency;
  const std::vector<SlotChoice> all = kept;
  const auto keep = [&](auto wanted) { std::erase_if(kept, [&](const SlotChoice& one) { return !wanted(one); }); };
  const auto most = [&](auto value) {
    double largest = value(kept.front());
    for (const SlotChoice& one : kept) largest = std::max(largest, double(value(one)));
    return largest;
  };
  keep([&](const SlotChoice& one) { return one.objectives.concurrency >= spec.min_concurrency.value_or(1); });
  keep([&](const SlotChoice& one) {
    return std::none_of(all.begin(), all.end(),
                        [&](const SlotChoice& other) { return dominates(other.objectives, one.objectives); });
  });
  const double at_once = most([](const SlotChoice& one) { return one.objectives.concurrency; });
  const double least = std::min(at_once, spec.min_concurrency.value_or((1 - spec.rule.most_given_up) * reference));
  keep([&](const SlotChoice& one) { return one.objectives.concurrency >= least; });
  const double tokens = -most([](const SlotChoice& one) { return -double(one.objectives.reprefilled_tokens); });
  keep([&](const SlotChoice& one) {
    return double(one.objectives.reprefilled_tokens) <= tokens + spec.rule.alike * double(prompt_tokens);
  });
  const double bytes = -most([](const SlotChoice& one) { return -double(one.objectives.bytes_per_request); });
  keep([&](const SlotChoice& one) {
    return double(one.objectives.bytes_per_request) <= bytes * (1 + spec.rule.alike);
  });
  return *std::min_element(kept.begin(), kept.end(), [](const SlotChoice& a, const SlotChoice& b) {
    const auto key = [](const SlotChoice& one) {
      return std::tuple(one.changes(), one.objectives.bytes_per_request, one.objectives.reprefilled_tokens);
    };
    return key(a) < key(b);
  });
}

}  // namespace

TEST_CASE("law: the pick of a search is that of every setting planned and replayed by hand") {
  for (const std::int64_t gib_of_memory : {2, 6, 24})
    for (const std::optional<double> wanted : {std::optional<double>(), std::optional<double>(3)}) {
      CAPTURE(gib_of_memory);
      RecommendSpec spec = slots_of_397b({.max_requests = 150}, gib_of_memory * gib);
      spec.min_concurrency = wanted;
      const Recommendation result = recommend(spec);
      CHECK(result.search == SearchKind::exhaustive);
      CHECK(result.planned_layouts == result.combinations + result.merged_layouts + std::ssize(result.impossible));
      const std::vector<SlotChoice> all = all_choices(result.space, spec, result.workload.repeated_tokens);
      const Candidate& pick = result.candidates[result.pick];
      const SlotChoice best = best_of(all, spec, result.workload.prompt_tokens);
      CHECK(pick.objectives == best.objectives);
      CHECK(pick.settings_changed == best.changes());
      CHECK(result.candidates.size() == all.size());
      for (const Candidate& candidate : result.candidates) {
        const SequenceRows& rows = *result.layout_of(candidate).plan.rows;
        const auto own = std::find_if(all.begin(), all.end(), [&](const SlotChoice& one) {
          return one.slots == rows.sequences && one.checkpoints == rows.checkpoints &&
                 (rows.checkpoints == 0 || one.step == rows.checkpoint_step_tokens) &&
                 one.cache_ram == rows.saved_bytes >> 20;
        });
        REQUIRE(own != all.end());
        CHECK(candidate.objectives == own->objectives);
      }
    }
}

TEST_CASE("law: among the slots is the largest number all of which hold requests of the length at once") {
  for (const std::int64_t gib_of_memory : {2, 24, 40}) {
    const RecommendSpec spec = slots_of_397b({.prompts = {{.tokens = 1000, .copies = 3}}}, gib_of_memory * gib);
    const SlotSpace space(spec);
    const auto running = [&](std::int64_t slots) {
      EngineSpec engine = spec.engine;
      engine.max_running_requests = slots;
      try {
        return space.running(make_plan(spec.model, engine, spec.limits), length_of_slots);
      } catch (const SpecError&) {  // no slot has the context of such a request
        return 0.0;
      }
    };
    const std::int64_t full = space.space().slots.back();
    CAPTURE(full);
    CHECK(running(full) >= double(full));
    CHECK(running(full + 1) < double(full + 1));
  }
}

TEST_CASE("golden: copies of a prompt go on from the checkpoint before its end, whatever the slots") {
  const Recommendation result = recommend(slots_of_397b({.prompts = {{.tokens = 1000, .copies = 20}}}, 40 * gib));
  REQUIRE(result.default_candidate);
  for (const Candidate& candidate : result.candidates) {
    const std::int64_t checkpoints = result.layout_of(candidate).plan.rows->checkpoints;
    CHECK(candidate.hit_tokens == (checkpoints > 0 ? 19 * 996 : 0));
    CHECK(candidate.objectives.reprefilled_tokens == (checkpoints > 0 ? 19 * 3 : 19 * 999));
  }
  // The default's four slots run four; more are better, and their rows leave fewer cells.
  CHECK(result.candidates[*result.default_candidate].objectives.concurrency == 4);
}

TEST_CASE("law: what checkpoints and saved prompts may take of the host is within its limit, and more brings more") {
  RecommendSpec spec = slots_of_397b({.max_requests = 150}, 24 * gib);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t host_gib : {1, 16, 256}) {
    CAPTURE(host_gib);
    spec.host_memory_bytes = host_gib * gib;
    const Recommendation result = recommend(spec);
    const Candidate& pick = result.candidates[result.pick];
    const SequenceRows& rows = *result.layout_of(pick).plan.rows;
    CHECK(rows.host_bytes() + rows.saved_bytes <= *spec.host_memory_bytes);
    CHECK(pick.objectives.reprefilled_tokens <= least);
    least = pick.objectives.reprefilled_tokens;
    for (const std::int64_t cache_ram : result.space.cache_rams)
      CHECK((cache_ram == 0 || cache_ram <= host_gib * 1024));
    for (const std::int64_t quarters : {1, 2, 3, 4})
      CHECK(std::ranges::count(result.space.cache_rams, quarters * host_gib * 256) == 1);
    for (const Candidate& candidate : result.candidates) {
      const SequenceRows& of = *result.layout_of(candidate).plan.rows;
      if (eligible(candidate)) CHECK(of.host_bytes() + of.saved_bytes <= *spec.host_memory_bytes);
    }
  }
  spec.host_memory_bytes = gib;
  spec.space.cache_rams = {8192};
  CHECK_THROWS_WITH_AS(recommend(spec),
                       doctest::Contains("no setting keeps all checkpoints and saved prompts within 1073741824 bytes"),
                       InputError);
}

TEST_CASE("edge: what a search of slots does not answer is refused with what to do") {
  RecommendSpec spec = slots_of_397b({.prompts = {{.tokens = 1000, .copies = 3}}}, 2 * gib);
  spec.min_concurrency = 1000;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("no setting holds 1000 requests of 16384 tokens at once in"),
                       InputError);
  spec.min_concurrency.reset();
  spec.driver.kind = DriverKind::closed_loop;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("slots are replayed one prompt at a time"), SpecError);
  spec.driver = {};
  spec.engine.num_blocks = 1000;
  CHECK_THROWS_WITH_AS(recommend(spec), doctest::Contains("a number of blocks is no common limit"), SpecError);
}

TEST_CASE("edge: where nothing is cached, what saved prompts may take is no choice") {
  RecommendSpec spec = slots_of_397b({.prompts = {{.tokens = 1000, .copies = 3}}}, std::int64_t{24} << 30);
  spec.space = {.slots = {1, 2}, .slot_checkpoints = {0}};
  const SlotSpace caching(spec);
  REQUIRE(caching.space().cache_rams.size() > 1);
  CHECK(caching.engines().size() == 2 * caching.space().cache_rams.size());
  spec.engine.cache_mode = CacheMode::none;
  const SlotSpace without(spec);
  CHECK(without.space().cache_rams.size() > 1);
  CHECK(without.engines().size() == 2);
}
