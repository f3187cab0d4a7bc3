#include "transfer/page_runs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

namespace hybridkv {
namespace {

using namespace testing;

std::vector<PageRuns> runs_of(const EngineRules* rules, CacheOrder order, std::int64_t pack = 1) {
  EngineSpec engine{.rules = rules, .tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  engine.attention_pack_size = pack;
  if (rules == &rules_of_vllm_0_33) engine.cache_order = order;
  return page_runs(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}));
}

/// Those of the layers with attention.
const PageRuns& of_tokens(const std::vector<PageRuns>& runs) {
  return *std::max_element(runs.begin(), runs.end(),
                           [](const PageRuns& a, const PageRuns& b) { return a.content_bytes < b.content_bytes; });
}

TEST_CASE("golden: one block is one run where its bytes lie together, else one a layer") {
  // Qwen3.5-397B at TP 2: three groups of 15 states, one of 15 attention layers; B = 2096, states padded to its page.
  const std::int64_t page = 2096 * 1024, state = 2'134'016;
  const auto layers = runs_of(&rules_of_vllm_0_33, CacheOrder::lbnhc);
  REQUIRE(layers.size() == 4);
  CHECK(layers[0] == PageRuns{0, 15 * state, 15, 15 * page, 15});
  CHECK(of_tokens(layers) == PageRuns{3, 15 * page, 15, 15 * page, 15});
  const auto blocks = runs_of(&rules_of_vllm_0_33, CacheOrder::blnhc);
  CHECK(blocks[0] == PageRuns{0, 15 * state, 15, 15 * page, 1});
  CHECK(of_tokens(blocks) == PageRuns{3, 15 * page, 1, 15 * page, 1});
}

TEST_CASE("golden: a pack is one run") {
  // N = 15: B = 144, one page of 2,211,840 bytes, full of 15 layers, or of one state and padding.
  const auto packed = runs_of(&rules_of_vllm_2026_06, CacheOrder::lbnhc, 15);
  REQUIRE(packed.size() == 46);
  CHECK(of_tokens(packed) == PageRuns{45, 2'211'840, 1, 2'211'840, 1});
  CHECK(packed[0] == PageRuns{0, 2'134'016, 1, 2'211'840, 1});
  CHECK(of_tokens(runs_of(&rules_of_vllm_2026_06, CacheOrder::lbnhc, 1)).content_runs == 15);
}

TEST_CASE("golden: a state in several small pages is a run in each") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::small_pages, .cache_mode = CacheMode::align,
                    .memory_bytes = 40 * gib};
  const CachePlan plan = make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
  for (const PageRuns& runs : page_runs(plan)) {
    const GroupPlan& group = plan.groups[runs.group];
    if (plan.spec_of(group).attention) continue;
    CHECK(group.ids_per_entry > 1);
    CHECK(runs.page_runs == group.ids_per_entry * std::ssize(group.pages));
    CHECK(runs.content_bytes == 2'134'016 * std::ssize(group.pages));
  }
}

}  // namespace
}  // namespace hybridkv
