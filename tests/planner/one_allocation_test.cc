// Stages of a pipeline in one allocation: what is a stage's own, and what all have alike.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/vllm/rules.h"
#include "planner/demand.h"
#include "planner/plan.h"
#include "tests/planner/at_32k.h"
#include "tests/planner/models.h"
#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

EngineSpec engine_of(std::vector<std::int64_t> stages) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33,
                    .backend_profile = BackendProfile::sm80,
                    .tensor_parallel = 2,
                    .cache_mode = CacheMode::align,
                    .memory_bytes = 40 * gib};
  engine.pipeline_parallel = std::ssize(stages);
  engine.pipeline_layers = std::move(stages);
  return engine;
}

/// By table: whether it holds layers of a drafter.
std::vector<bool> tables_that_draft(const CachePlan& plan) {
  std::vector<bool> drafts;
  for (const GroupPlan& group : plan.groups)
    if (!group.shares_table) drafts.push_back(group.drafts);
  return drafts;
}

}  // namespace

TEST_CASE("golden: a stage holds its own layers of every group, and all stages have as many blocks") {
  EngineSpec engine = engine_of({16, 44});
  std::int64_t layers = 0, blocks = -1;
  for (engine.pipeline_rank = 0; engine.pipeline_rank < 2; ++engine.pipeline_rank) {
    const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
    for (const GroupPlan& group : plan.groups) layers += std::ssize(group.layers());
    CHECK((blocks == -1 || blocks == plan.num_blocks()));
    blocks = plan.num_blocks();
  }
  CHECK(layers == 60);
}

TEST_CASE("law: stages with memory of their own have as many blocks as the one with room for the fewest") {
  EngineSpec engine = engine_of({16, 44});
  for (const std::vector<std::int64_t>& of : {std::vector<std::int64_t>{40, 40}, {10, 40}, {40, 10}, {4, 40}}) {
    engine.pipeline_memory_bytes = {of[0] * gib, of[1] * gib};
    std::vector<std::int64_t> blocks, room;
    for (engine.pipeline_rank = 0; engine.pipeline_rank < 2; ++engine.pipeline_rank) {
      const auto stage = static_cast<std::size_t>(engine.pipeline_rank);
      const CachePlan plan = make_plan(qwen35_397b(), engine, at_32k);
      blocks.push_back(plan.num_blocks());
      room.push_back(engine.pipeline_memory_bytes[stage] / plan.arenas.front().bytes_per_id);
      CHECK(plan.memory_bytes() == engine.pipeline_memory_bytes[stage]);
    }
    CHECK(blocks == std::vector<std::int64_t>(2, std::min(room[0], room[1])));
  }
  engine.pipeline_rank = 0;
  engine.pipeline_memory_bytes = {gib / 16, 40 * gib};
  CHECK(path_of_refusal(engine) == "engine.pipeline_memory");  // not one request
  engine.pipeline_memory_bytes = {40 * gib};
  CHECK(path_of_refusal(engine) == "engine.pipeline_memory");
  engine.rules = &rules_of_vllm_2026_06;
  engine.backend_profile.reset();
  engine.pipeline_parallel = 1, engine.pipeline_layers.clear();
  CHECK(path_of_refusal(engine) == "engine.pipeline_memory");
}

TEST_CASE("regression: a request takes ids of hidden states and drafts on every stage, also without their layers") {
  EngineSpec engine = engine_of({16, 44});
  engine.hidden_state_size = 4096;
  engine.mtp_layers = 1;
  engine.speculative_tokens = 2;
  std::vector<CachePlan> stages;
  for (engine.pipeline_rank = 0; engine.pipeline_rank < 2; ++engine.pipeline_rank)
    stages.push_back(make_plan(qwen35_397b(), engine, at_32k));
  const auto group = std::find_if(stages[0].groups.begin(), stages[0].groups.end(),
                                  [](const GroupPlan& one) { return one.pages.empty(); });
  REQUIRE(group != stages[0].groups.end());
  CHECK(stages[0].spec_of(*group).attention->kind == AttentionKind::hidden_state);
  CHECK(group->padding_positions == std::ssize(stages[0].lanes)); // the whole block is lost on this stage
  CHECK(stages[0].capacity.front().blocks_per_request == stages[1].capacity.front().blocks_per_request);
  const std::vector<bool> drafts = tables_that_draft(stages[0]);
  CHECK(std::count(drafts.begin(), drafts.end(), true) == 1);
}

TEST_CASE("law: what a request takes and what is found again is the same on every stage of a pipeline") {
  for (const SpecSize size : {SpecSize::real, SpecSize::tiny}) {
    int compared = 0, elsewhere = 0, drafting = 0;
    CHECK(check_plans("stages", 500, size, [&](RandomSpecs specs, const CachePlan&) {
      specs.engine.pipeline_parallel = std::min<std::int64_t>(3, std::ssize(specs.model.layers));
      std::vector<CachePlan> stages;
      for (specs.engine.pipeline_rank = 0; specs.engine.pipeline_rank < specs.engine.pipeline_parallel;
           ++specs.engine.pipeline_rank) {
        try {
          stages.push_back(plan_of(specs));
        } catch (const SpecError& error) {
          RC_ASSERT((stages.empty() || error.path() == "engine.pipeline_rank"));  // it has no layer with a cache
        }
      }
      for (const CachePlan& stage : stages) {
        const CachePlan& first = stages.front();
        compared += &stage != &first;
        for (const GroupPlan& group : stage.groups) elsewhere += group.pages.empty();
        RC_ASSERT(stage.num_blocks() == first.num_blocks());
        RC_ASSERT(stage.prefix == first.prefix);
        RC_ASSERT(stage.max_fitting_tokens == first.max_fitting_tokens);
        const std::vector<bool> drafts = tables_that_draft(first);
        drafting += std::count(drafts.begin(), drafts.end(), true) > 0;
        RC_ASSERT(tables_that_draft(stage) == drafts);
        for (const std::int64_t tokens : {1, 100, 5'000, 100'000}) {
          RC_ASSERT(request_demand(stage, tokens).ids == request_demand(first, tokens).ids);
          RC_ASSERT(ids_by_cause(stage, tokens) == ids_by_cause(first, tokens));
        }
      }
    }, Strategies::one_allocation));
    CHECK(compared > 200);
    CHECK(elsewhere > 50);
    CHECK(drafting > 20);
  }
}
