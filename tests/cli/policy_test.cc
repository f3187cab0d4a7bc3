// `simulate --policy`: a compiled policy of the user's own in the place of the engine's.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "test_paths.h"

using namespace hybridkv::testing;

namespace {

const std::string replayed_model =
    "simulate --model Qwen3.5-4B --memory 6G --max-model-len 64k --requests 1000 ";
const std::string own = replayed_model + "--policy '" HYBRIDKV_TEST_POLICY "' ";

nlohmann::json first_cache(const std::string& question) {
  const ProgramRun run = run_program(question + "--format json");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.output)["caches"][0];
}

}  // namespace

TEST_CASE("golden: a policy of one's own decides, and the answer says whose it is") {
  const nlohmann::json mine = first_cache(own), engines = first_cache(replayed_model);
  CHECK(mine["eviction"].get<std::string>().find("hybridkv_test_policy") != std::string::npos);
  CHECK_FALSE(engines.contains("eviction"));
  CHECK(mine["hit_tokens"] != engines["hit_tokens"]);
  CHECK(contains(run_program(own).output, "eviction policy"));  // what no run of an engine covers
}

TEST_CASE("edge: what is no policy, or goes with none, is refused") {
  require_refused(replayed_model + "--policy nothing.so", "no library can be loaded");
  require_refused(replayed_model + "--policy-settings 3", "give its library by --policy");
  require_refused(own + "--policy-settings refuse", "these settings are refused");
  require_refused(own + "--policy-settings nan", "is not a number");
  require_refused(own + "--eviction worth", "give one of the two");
  require_refused(own + "--engine sglang-0.5.23", "policies are tried on pools of blocks");
}
