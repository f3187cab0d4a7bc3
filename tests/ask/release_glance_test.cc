// What the release that users run today would print instead: vLLM 0.33 for June 2026.
#include "ask/release_glance.h"

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "scenarios/read.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Scenario qwen(const std::string& engine) {
  const std::string model = "model: Qwen3.5-397B-A17B\nengine:\n  memory: 40 GiB\n  tensor_parallel: 2\n";
  const std::string lengths = "limits:\n  max_model_len: [8192, 32768]\n";
  return read_scenario(parse_scenario(model + by_june(engine) + lengths, "qwen.yaml"));
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B under vLLM 0.33, from a scenario of June 2026") {
  const ReleaseGlance glance = glance_at_successor(qwen("  attention_pack_size: 5\n")).value();
  CHECK(glance.refusal.empty());
  CHECK(glance.block_tokens == 2112);
  CHECK(glance.mode == CacheMode::align);  // its default, as the scenario says nothing
  CHECK(glance.profile == BackendProfile::sm90);
  CHECK(glance.capacity.max_model_len == 32'768);
  CHECK(glance.capacity.blocks_per_request == 25);
  CHECK(glance.capacity.max_concurrency == doctest::Approx(52.92));
  CHECK(glance.capacity.kv_cache_tokens == 1'734'082);
}

TEST_CASE("law: what the scenario says is kept") {
  CHECK(glance_at_successor(qwen("  cache_mode: none\n"))->mode == CacheMode::none);
  CHECK(glance_at_successor(qwen("  backend_profile: sm80\n"))->profile == BackendProfile::sm80);
  const Scenario dual = qwen("  strategy: dual_pool\n  state_memory_ratio: 0.5\n");
  CHECK(glance_at_successor(dual)->capacity.blocks_per_request == 25);
}

TEST_CASE("edge: what vLLM 0.33 refuses is told, and of its own plans there is no glance") {
  CHECK(glance_at_successor(qwen("  cache_mode: all\n"))->refusal ==
        "engine.cache_mode: vLLM 0.33.0 has no mode all; take align or none");
  CHECK(!glance_at_successor(qwen("  release: vllm-0.33\n")));
}

TEST_CASE("law: the glance is the plan of the same scenario by that release") {
  const Scenario june = qwen("  cache_mode: align\n"), later = qwen("  release: vllm-0.33\n");
  const PlanSet set = plan_scenario(later, later.pack_sizes);
  CHECK(plan_answer(set, june).successor->capacity == set.plans.front().capacity.back());
}
