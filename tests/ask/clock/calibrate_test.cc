// Load tests of a deployment: what is read of them, and what is said of each.
#include "ask/clock/calibrate.h"

#include <doctest/doctest.h>

#include <string>

#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;

namespace {

const std::string short_bench = HYBRIDKV_TEST_DATA "/clock/bench_short.json";
const std::string long_bench = HYBRIDKV_TEST_DATA "/clock/bench_long.json";

}  // namespace

TEST_CASE("golden: of a load test its mean lengths, its clients and its two times are read, in seconds") {
  const MeasuredRun run = read_bench(short_bench);
  // 40,960 and 10,240 tokens of 40 requests.
  CHECK(run.test.input_tokens == 1024);
  CHECK(run.test.output_tokens == 256);
  CHECK(run.test.concurrency == 4);
  CHECK(run.test.requests == 40);
  CHECK(run.first_token == doctest::Approx(0.0964));
  CHECK(run.output_token == doctest::Approx(0.0079));
  // One that generates a token of each request has no time between two of them.
  const testing::ScratchFolder folder;
  CHECK(read_bench(folder.file("one_token.json",
                               R"({"completed": 40, "total_input_tokens": 40960, "total_output_tokens": 40,)"
                               R"( "max_concurrency": 4, "mean_ttft_ms": 96.4})")).output_token == 0);
}

TEST_CASE("law: every load test of a calibration is answered, with what was measured and two predictions") {
  const CalibrateAnswer answer = calibrate(
      {.scenario = read_scenario(parse_scenario(
           "model: Qwen3.5-35B-A3B\nengine: {release: vllm-0.33, memory: 60GiB}\nlimits: {max_model_len: 32768}\n"
           "simulate: {clock: {gpu: H200}}\n", "bench.yaml")),
       .benches = {short_bench, long_bench}});
  REQUIRE(answer.runs.size() == 2);
  CHECK(answer.runs[0].file == short_bench);
  CHECK(answer.runs[1].file == long_bench);
  CHECK(answer.runs[0].first_token == doctest::Approx(0.0964));
  CHECK(answer.runs[1].first_token == doctest::Approx(0.412));
  for (const CalibratedRun& run : answer.runs) {
    CHECK(run.before.first_token > 0);
    CHECK(run.after.first_token > 0);
  }
}
