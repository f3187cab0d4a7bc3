#include "report/plan/arena_table.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "report/replay/simulate_report.h"

using namespace hybridkv;

namespace {

/// Two prompts of 40 tokens, the second one other than the first, one after the other: tokens in blocks of 16, states
/// in an arena of three ids, one every 16 tokens.
SimulateAnswer two_arenas() {
  SimulateQuestion question{.request = {.trace = {.prompts = {{.tokens = 40, .variants = 2}}}}};
  CacheGeometry geometry{.name = "apart", .block_size_tokens = 16, .num_blocks = 101, .state_groups = 1};
  geometry.more_arenas = {4};
  geometry.state_arenas = {1};
  question.caches = {geometry};
  return simulate(question);
}

}  // namespace

TEST_CASE("golden: of several arenas each says what it holds, how full it was and what it evicted") {
  const SimulateAnswer answer = two_arenas();
  const std::optional<Table> table = arena_table(answer);
  REQUIRE(table.has_value());
  // 40 tokens take 3 of 100 blocks of tokens, and the first prompt's stay findable beside the second's. Of three ids
  // of states a request holds two: the one at 32 tokens, which is kept for later, and the running one.
  CHECK(render_csv(*table) ==
        "name,arena,holds,num_ids,max_held_ids,max_held_share,evictions\n"
        "apart,0,tokens,101,3,3,0\n"
        "apart,1,states,4,2,66.66666666666667,0\n");
  const nlohmann::json json = nlohmann::json::parse(render_simulate(answer, Format::json));
  const nlohmann::json& arenas = json.at("caches").at(0).at("arenas");
  REQUIRE(arenas.size() == 2);
  CHECK(arenas.at(1).at("max_held_ids") == 2);
  CHECK(arenas.at(1).at("holds") == "states");
  CHECK(render_simulate(answer, Format::table).find("Arena by arena\n") != std::string::npos);
}

TEST_CASE("edge: one arena is the cache, and is not shown twice") {
  SimulateQuestion question{.request = {.trace = {.prompts = {{.tokens = 40, .copies = 2}}}}};
  question.caches = {CacheGeometry{.name = "one", .block_size_tokens = 16, .num_blocks = 101, .state_groups = 1}};
  const SimulateAnswer answer = simulate(question);
  CHECK(!arena_table(answer).has_value());
  CHECK(arenas_json(answer.caches.front().blocks()).empty());
  const std::string json = render_simulate(answer, Format::json);
  CHECK(json.find("arenas") == std::string::npos);
}
