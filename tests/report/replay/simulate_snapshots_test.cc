// What `simulate` says of a tree with snapshots.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engines/tensorrt_llm/rules.h"
#include "planner/engine_rules.h"
#include "report/replay/simulate_report.h"

using namespace hybridkv;

TEST_CASE("edge: where a request left the tree is said behind its first token already, and not where it never did") {
  SimulateAnswer answer{.rules = &rules_of_tensorrt_llm, .trace = "two prompts", .requests = 2, .prompt_tokens = 80};
  SnapshotStats stats;
  stats.requests = 2;
  stats.prompt_tokens = stats.taken_prompt_tokens = 80;
  ReplayedCache& cache = answer.caches.emplace_back();
  cache.name = "small";
  cache.index = stats;
  cache.requests = {{.record = SnapshotRecord{.index = 0, .input_length = 40}},
                    {.record = SnapshotRecord{.index = 1, .input_length = 40, .content_tokens = 1,
                                              .branch_tokens = 1}}};
  const nlohmann::json json = nlohmann::json::parse(render_simulate(answer, Format::json));
  const nlohmann::json& requests = json.at("caches").at(0).at("per_request");
  REQUIRE(requests.size() == 2);
  CHECK(requests.at(0).at("branch_at").is_null());
  CHECK(requests.at(1).at("branch_at") == 1);
}
