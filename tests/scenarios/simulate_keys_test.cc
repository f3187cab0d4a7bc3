#include "scenarios/simulate_keys.h"

#include <doctest/doctest.h>

#include "scenario_text.h"
#include "scenarios/flags_alone.h"

// The section `simulate` of a scenario.

namespace hybridkv::test {

namespace {

const std::string before = "model: Qwen3.5-4B\nengine: {memory: 1 GB}\nlimits: {max_model_len: 8192}\nsimulate:\n";

SimulateRequest request_of(const std::string& lines) { return read_text_as_scenario(before + lines).simulate; }

/// The message for line 5, without the excerpt.
std::string message_of(const std::string& lines) {
  const std::string message = reading_error(before + lines);
  return message.substr(0, message.find('\n'));
}

}  // namespace

TEST_CASE("golden: without the section everything has its default") {
  const Scenario scenario = read_text_as_scenario("model: Qwen3.5-4B\nengine: {memory: 1 GB}\n"
                                                  "limits: {max_model_len: 8192}\n");
  CHECK(scenario.simulate == SimulateRequest{});
  CHECK(scenario.simulate.trace.synthetic == SyntheticTraceSpec{});
}

TEST_CASE("golden: the example writes out the defaults") {
  const SimulateRequest example = read_scenario(load_scenario("example")).simulate;
  CHECK(example.trace.synthetic == SyntheticTraceSpec{});
  CHECK(example.trace.max_requests == SyntheticTraceSpec{}.num_requests);
  SimulateRequest defaults;
  defaults.trace = example.trace;
  CHECK(example == defaults);
}

TEST_CASE("golden: every key sets its field") {
  SimulateRequest request;
  request.trace.file = "folder/trace.jsonl.zst";
  request.trace.form = TraceForm::qwen;
  request.trace.skip_bad_lines = true;
  request.trace.max_requests = 12;
  request.driver = {DriverKind::open_loop, 3, {0.5, 0.25, 2e-3}};
  request.driver.think_seconds = 1.5;
  request.upper_bounds = true;
  request.losses = true;
  request.scheduler.branch_point = false;
  request.retention_interval_tokens = 0;
  request.match_unit_tokens = 16;
  request.scheduler.max_num_seqs = 8;
  request.scheduler.watermark = 0.125;
  request.scheduler.acceptance = 0.75;
  request.clock = {.served = {.gpu = "H200", .gpus = 8, .file = "folder/clock.json"},
                   .limits = {.first_token = 1, .output_token = 0.04},
                   .rate = 2,
                   .price_per_gpu_hour = 2.5};
  request.scheduler.long_prefill_threshold = 2048;
  request.scheduler.eviction = EvictionPolicy::time_to_live;
  request.scheduler.checkpoint_back = 2;
  request.host_memory_bytes = std::int64_t{512} << 30;
  request.host_state_share = 0.25;
  request.host_write = HostWrite::write_through;
  request.driver.host_bytes_per_second = 20e9;
  CHECK(request_of("  trace: {file: folder/./trace.jsonl.zst, form: qwen, skip_bad_lines: true, max_requests: 12}\n"
                   "  driver: open-loop\n  in_flight: 3\n  think_seconds: 1.5\n  upper_bounds: true\n"
                   "  losses: true\n  branch_point: false\n"
                   "  cost: {per_prefill_token: 0.5, per_decode_step: .25, per_copied_state: 2e-3}\n"
                   "  retention_interval_tokens: 0\n  match_unit_tokens: 16\n  max_num_seqs: 8\n  watermark: 0.125\n"
                   "  acceptance: 0.75\n"
                   "  clock: {gpu: H200, gpus: 8, calibrated: folder/./clock.json, ttft_seconds: 1, "
                   "tpot_seconds: 0.04, rate: 2, price_per_gpu_hour: 2.5}\n"
                   "  long_prefill_threshold_tokens: 2048\n  eviction: time-to-live\n"
                   "  checkpoint_back: 2\n  host_memory: 512 GiB\n  host_state_share: 0.25\n"
                   "  host_write: write-through\n  host_bandwidth: 20\n") == request);
}

TEST_CASE("golden: prompts written out") {
  const SimulateRequest request = request_of(
      "  trace:\n    prompts:\n      - {tokens: 10, copies: 2}\n"
      "      - {tokens: 20, shared_tokens: 5, shared_with: 1, output_tokens: 7, variants: 3}\n    max_requests: 2\n");
  CHECK(request.trace.prompts == std::vector<PromptSpec>{{10, 2, 0, 1, 0, 1}, {20, 1, 5, 1, 7, 3}});
  CHECK(request.trace.max_requests == 2);
}

TEST_CASE("golden: distributions and everything else of a made-up trace") {
  SyntheticTraceSpec spec;
  spec.seed = 9;
  spec.sessions_per_second = 0.5;
  spec.chat_weight = 0;
  spec.agent_weight = 1;
  spec.retrieval_weight = 2;
  spec.num_system_prompts = 3;
  spec.num_documents = 4;
  spec.popularity_skew = 0;
  spec.chat_pause_seconds = 1.5;
  spec.agent_pause_seconds = 2.5;
  spec.max_prompt_tokens = 4096;
  using enum Distribution::Kind;
  spec.system_tokens = {constant, 100};
  spec.agent_system_tokens = {uniform, 2, 6, 3, 5};
  spec.chat_turns = {geometric, 2.5};
  spec.document_tokens = {lognormal, 600, 0.5, 16, 8192};
  CHECK(request_of("  trace:\n    synthetic:\n      seed: 9\n      sessions_per_second: 0.5\n      chat_weight: 0\n"
                   "      agent_weight: 1\n      retrieval_weight: 2\n      num_system_prompts: 3\n"
                   "      num_documents: 4\n      popularity_skew: 0\n      chat_pause_seconds: 1.5\n"
                   "      agent_pause_seconds: 2.5\n      max_prompt_tokens: 4096\n"
                   "      system_tokens: {distribution: constant, value: 100}\n"
                   "      agent_system_tokens: {distribution: uniform, from: 2, to: 6, least: 3, most: 5}\n"
                   "      chat_turns: {distribution: geometric, mean: 2.5}\n"
                   "      document_tokens: {distribution: lognormal, median: 600, sigma: 0.5, least: 16, most: 8192}\n")
            .trace.synthetic == spec);
}

TEST_CASE("golden: everything of replicas behind a router") {
  const FleetQuestion fleet =
      request_of("  fleet:\n    replicas: 4\n    router: [precise, states]\n    router_block_tokens: 32\n"
                 "    router_delay_seconds: 0.1\n    prefix_weight: 1\n    queue_weight: 4\n    usage_weight: 5\n"
                 "    slow: [{replica: 2, times: 1.5}]\n    down: [{replica: 1, from_seconds: 60}, {replica: 3, "
                 "from_seconds: 5, until_seconds: 9}]\n    decode_replicas: 2\n    link_bandwidth: 100\n").fleet;
  FleetQuestion said{.replicas = 4, .routers = {RouterKind::precise, RouterKind::states}, .slowness = {1, 1, 1.5},
                     .outages = {{.replica = 1, .from = 60}, {.replica = 3, .from = 5, .until = 9}},
                     .decode = {.replicas = 2, .link_bytes_per_second = 100e9}};
  said.router.block_tokens = 32;
  said.router.delay_seconds = 0.1;
  said.router.prefix_weight = 1;
  said.router.queue_weight = 4;
  said.router.usage_weight = 5;
  CHECK(fleet == said);
  CHECK(request_of("  fleet: {replicas: 2, router: random}\n").fleet.routers == std::vector{RouterKind::random});
  CHECK_FALSE(request_of("  losses: false\n").fleet.is_asked());
}

TEST_CASE("edge: a fleet that cannot be is one message with the place") {
  CHECK(message_of("  fleet: {router: random}\n").find("simulate.fleet: key 'replicas' is missing") !=
        std::string::npos);
  CHECK(message_of("  fleet: {replicas: 2, router: [random, prcise]}\n").find("did you mean 'precise'?") !=
        std::string::npos);
  CHECK(message_of("  fleet: {replicas: 2, router: []}\n").find("simulate.fleet.router") != std::string::npos);
  CHECK(message_of("  fleet: {replicas: 2000}\n").find("2000 is too large") != std::string::npos);
  CHECK(message_of("  fleet: {replicas: 2, slow: [{replica: 2, times: 2}]}\n") ==
        "bad.yaml:5:30: simulate.fleet.slow: there is no replica 2, they are 0 to 1");
  CHECK(message_of("  fleet: {replicas: 2, down: [{replica: 5, from_seconds: 1}]}\n") ==
        "bad.yaml:5:30: simulate.fleet.down: there is no replica 5, they are 0 to 1");
  CHECK(message_of("  fleet: {replicas: 2, slow: [{replica: 0, times: 0}]}\n") ==
        "bad.yaml:5:51: simulate.fleet.slow[0].times: is above 0");
  CHECK(message_of("  fleet: {replicas: 2, down: [{replica: 0, from_seconds: 9, until_seconds: 3}]}\n") ==
        "bad.yaml:5:76: simulate.fleet.down[0].until_seconds: is back before it is down");
}

TEST_CASE("edge: wrong values are one message with the place") {
  CHECK(message_of("  driver: loop\n") ==
        "bad.yaml:5:11: simulate.driver: 'loop' is none of the allowed words: "
        "one_at_a_time, closed_loop, open_loop; did you mean 'open_loop' or 'closed_loop'?");
  CHECK(message_of("  clock: {rate: 0, gpu: H200}\n") ==
        "bad.yaml:5:17: simulate.clock.rate: is from 1e-06 to 1e+06");
  CHECK(message_of("  clock: {rate: 2}\n").find("simulate.clock: key 'gpu' is missing") != std::string::npos);
  CHECK(message_of("  watermark: much\n") ==
        "bad.yaml:5:14: simulate.watermark: 'much' is not a number; allowed: numbers from 0");
  CHECK(message_of("  watermark: -1\n") ==
        "bad.yaml:5:14: simulate.watermark: '-1' is too small; allowed: numbers from 0");
  CHECK(message_of("  cost: {per_decode_step: inf}\n") ==
        "bad.yaml:5:27: simulate.cost.per_decode_step: 'inf' is not a number; allowed: numbers from 0");
  CHECK(message_of("  match_unit_tokens: 0\n") ==
        "bad.yaml:5:22: simulate.match_unit_tokens: 0 is too small; allowed: whole numbers from 1");
  CHECK(message_of("  in_flight: 0\n") ==
        "bad.yaml:5:14: simulate.in_flight: 0 is too small; allowed: whole numbers from 1 to 1000000");
  CHECK(message_of("  retention: 0\n") ==
        "bad.yaml:5:3: unknown key 'retention' in simulate; did you mean 'retention_interval_tokens'?");
}

TEST_CASE("edge: two traces, or a setting without its trace") {
  CHECK(message_of("  trace: {file: a, synthetic: {seed: 3}}\n") ==
        "bad.yaml:5:20: simulate.trace: file and synthetic name two traces; leave one out");
  CHECK(message_of("  trace: {form: qwen}\n") ==
        "bad.yaml:5:11: simulate.trace.form: goes with a trace file, and no file is given");
  CHECK(message_of("  trace: {prompts: 3}\n") ==
        "bad.yaml:5:20: simulate.trace.prompts: the text '3', where a list of mappings is expected");
  CHECK(message_of("  trace: {prompts: []}\n") ==
        "bad.yaml:5:20: simulate.trace.prompts: an empty list; give at least one mapping or leave the key out");
  CHECK(message_of("  trace: {prompts: [{copies: 2}]}\n") ==
        "bad.yaml:5:21: simulate.trace.prompts[0]: key 'tokens' is missing: length of the prompt");
  CHECK(message_of("  trace: {prompts: [{tokens: [2, 3]}]}\n") ==
        "bad.yaml:5:30: simulate.trace.prompts[0].tokens: a list, where a whole number is expected");
}

TEST_CASE("edge: a distribution has its own parameters, all of them, and no other's") {
  const auto message = [](const std::string& distribution) {
    return message_of("  trace: {synthetic: {user_tokens: {distribution: " + distribution + "}}}\n");
  };
  const std::string path = "simulate.trace.synthetic.user_tokens";
  CHECK(message("lognormal, median: 3") ==
        "bad.yaml:5:23: " + path + ": key 'sigma' is missing: lognormal takes median and sigma");
  CHECK(message("constant, value: 3, mean: 4") == "bad.yaml:5:71: " + path + ": constant takes value, not mean");
  CHECK(message("uniform, from: 5, to: 3") == "bad.yaml:5:73: " + path + ".to: 3 is below from, 5");
  CHECK(message("geometric, mean: 2, least: 7, most: 6") ==
        "bad.yaml:5:23: " + path + ": least, 7, is above most, 6");
}

TEST_CASE("edge: the section alone, for a cache without a plan") {
  ScenarioFile file = flags_alone();
  CHECK(read_simulate_section(file).simulate == SimulateRequest{});
  apply_override(file, "simulate.in_flight", "5", "--in-flight 5");
  CHECK(read_simulate_section(file).simulate.driver.in_flight == 5);
  apply_override(file, "simulate.in_flight", "x", "--in-flight x");
  CHECK(error_of([&] { read_simulate_section(file); }) ==
        "--in-flight x: simulate.in_flight: 'x' is not a whole number; allowed: whole numbers from 1 to 1000000");
}

}  // namespace hybridkv::test
