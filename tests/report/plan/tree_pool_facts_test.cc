// What a plan with a radix tree says beside all others.
#include "report/plan/tree_pool_facts.h"

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;
using testing::contains;

namespace {

/// What SGLang prints at its start of Qwen3.5-397B on two ranks.
std::string printed_at_start(const std::string& engine) {
  const Scenario scenario = read_scenario(
      parse_scenario("model: Qwen3.5-397B-A17B\nengine: {release: sglang-0.5.23, tensor_parallel: 2, memory: 40 GiB" +
                         engine + "}\nlimits: {max_model_len: 262144}\n",
                     "tree.yaml"));
  const CachePlan plan = plan_pack(scenario, 0);
  const auto facts = tree_pool_facts(plan, plan.capacity.front());
  REQUIRE(facts.front().first == "engine prints");
  return facts.front().second;
}

}  // namespace

TEST_CASE("golden: states of draft steps stand among the sizes that the engine prints, where there are drafts") {
  // A slot takes 45 layers * 2,097,152 bytes of ssm, one more slot than there are: 115 of them are 10.11 GiB.
  // States of draft steps: 96,030,720 bytes a slot * (22 requests + 1) * 4 steps = 8.23 GiB.
  const std::string drafted = printed_at_start(", speculative_tokens: 4, mtp_layers: 1, max_running_requests: 48");
  CAPTURE(drafted);
  CHECK(contains(drafted, "max_mamba_cache_size 114, conv 0.18 GB, ssm 10.11 GB, intermediate 8.23 GB; "
                          "max_total_num_tokens 1,408,161, "));
  const std::string plain = printed_at_start("");
  CAPTURE(plain);
  CHECK(contains(plain, " GB; max_total_num_tokens "));
  CHECK_FALSE(contains(plain, "intermediate"));
}
