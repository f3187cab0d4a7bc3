#include "ask/replay/simulate_request.h"

#include <doctest/doctest.h>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "scenarios/read.h"

using namespace hybridkv;

TEST_CASE("law: every setting of the scheduler reaches the cache, and nothing else of it changes") {
  const CacheGeometry geometry{.name = "a", .block_size_tokens = 32, .num_blocks = 100, .state_groups = 2};
  SimulateRequest request;
  CHECK(with_settings(geometry, request) == geometry);
  request.scheduler.branch_point = false;
  request.retention_interval_tokens = 320;
  request.match_unit_tokens = 16;
  request.scheduler.max_num_seqs = 3;
  request.scheduler.watermark = 0.25;
  request.scheduler.long_prefill_threshold = 64;
  CacheGeometry expected = geometry;
  expected.scheduler.branch_point = false;
  expected.retention_interval_tokens = 320;
  expected.match_unit_tokens = 16;
  expected.scheduler.max_num_seqs = 3;
  expected.scheduler.watermark = 0.25;
  expected.scheduler.long_prefill_threshold = 64;
  CHECK(with_settings(geometry, request) == expected);
}

TEST_CASE("fault: policies are tried on pools of blocks alone") {
  const auto path_of = [](const SimulateRequest& request) {
    try {
      refuse_unable(request, abilities_of_trees);
    } catch (const SpecError& error) {
      return error.path();
    }
    return std::string("none");
  };
  SimulateRequest request;
  CHECK(path_of(request) == "none");
  request.scheduler.eviction = EvictionPolicy::worth;
  CHECK(path_of(request) == "simulate.eviction");
  request.scheduler.eviction = EvictionPolicy::lru;
  request.scheduler.checkpoint_back = 1;
  CHECK(path_of(request) == "simulate.checkpoint_back");
}

TEST_CASE("golden: errors of the simulator under the names of a scenario") {
  const auto named = [](const char* path) { return scenario_error(SpecError(path, "is wrong")).path(); };
  CHECK(named("geometry.watermark") == "simulate.watermark");
  CHECK(named("geometry.num_blocks") == "engine.num_blocks");
  CHECK(named("geometry.max_num_batched_tokens") == "engine.max_num_batched_tokens");
  CHECK(named("driver.in_flight") == "simulate.in_flight");
  CHECK(named("prompts[2].tokens") == "simulate.trace.prompts[2].tokens");
  CHECK(named("trace.num_requests") == "simulate.trace.synthetic.num_requests");
  CHECK(named("model.layers") == "model.layers");
  CHECK(scenario_error(SpecError("geometry.watermark", "is wrong")).message() == "is wrong");
}

TEST_CASE("edge: memory of the host is refused for windows and large pages by every release's rules, by its key") {
  const auto refusal = [](const std::string& engine) {
    const std::string text = "model: Gemma-3-27B\nengine: {memory: 80 GiB" + engine +
                             "}\nlimits: {max_model_len: 8192}\nsimulate: {host_memory: 10 GiB}\n";
    try {
      check_replay({.cache = planned_caches(read_scenario(parse_scenario(text, "windows.yaml"))).front()});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(refusal("").find("simulate.host_memory: blocks with windows are not loaded") != std::string::npos);
  CHECK(refusal(", release: vllm-0.33").find("blocks with windows are not loaded") != std::string::npos);
  CHECK(refusal(", release: jenga").find("are not loaded") != std::string::npos);
}
