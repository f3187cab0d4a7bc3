// Lines that engines print as they serve, read as steps of sequences that generate.
#include "ask/clock/decode_log.h"

#include <doctest/doctest.h>

#include <cmath>

#include "ask/clock/calibrate.h"
#include "base/error.h"
#include "engines/sglang/engine.h"
#include "engines/vllm/engine.h"
#include "scenarios/read.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;

namespace {

const LoopRules some_rules{.cache_tokens = 100'000, .request_tokens = 1000};

/// A line of vLLM.
std::string vllm_line(double prompts, double generated, int running, double usage) {
  return "Engine 000: Avg prompt throughput: " + std::to_string(prompts) + " tokens/s, Avg generation throughput: " +
         std::to_string(generated) + " tokens/s, Running: " + std::to_string(running) +
         " reqs, Waiting: 0 reqs, GPU KV cache usage: " + std::to_string(usage) + "%, Prefix cache hit rate: 0.0%\n";
}

std::vector<MeasuredShape> read(const std::string& text, const Engine& engine, const LoopRules& rules = some_rules) {
  const testing::ScratchFolder folder;
  return read_decode_log(folder.file("server.log", text), *engine.log->texts->run, rules);
}

}  // namespace

TEST_CASE("golden: a line counts behind one with as many running, where neither has prompts") {
  const std::vector<MeasuredShape> steps = read(
      "other words\n" + vllm_line(900, 100, 4, 50) + vllm_line(0, 100, 4, 50) + vllm_line(0, 400, 4, 60) +
          vllm_line(0, 200, 8, 90) + vllm_line(0, 900, 8, 90), vllm_0_33);
  REQUIRE(steps.size() == 2);
  // 60 % of 100,000 tokens among four, each with the room of its states beside.
  CHECK(steps[0].shape.name == "4 x decode 1 behind 14000");
  CHECK(steps[0].seconds == doctest::Approx(0.01));
  CHECK(steps[1].shape.parts == std::vector<ShapePart>{{.context = 10250, .count = 8}});
  CHECK(steps[1].seconds == doctest::Approx(8.0 / 900));
}

TEST_CASE("golden: lines of one kind are one step, of the median time") {
  std::string text = vllm_line(0, 1, 4, 60);
  for (const double rate : {400, 500, 100}) text += vllm_line(0, rate, 4, 60);
  const std::vector<MeasuredShape> steps = read(text, vllm_0_33);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].seconds == doctest::Approx(0.01));
}

TEST_CASE("golden: batches of prompts between those of SGLang that generate, and drafts") {
  const auto decode = [](int running, double rate) {
    return "Decode batch, #running-req: " + std::to_string(running) + ", #token: 48000, token usage: 0.48, cuda graph: "
           "True, gen throughput (token/s): " + std::to_string(rate) + ", #queue-req: 0\n";
  };
  const std::string prompt = "Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.48, "
                             "#running-req: 16, #queue-req: 0\n";
  const LoopRules drafts{.cache_tokens = 100'000, .drafts = {.tokens = 1, .acceptance = 0.5}};
  const std::vector<MeasuredShape> steps =
      read(decode(16, 9) + prompt + decode(16, 10) + decode(16, 1200), sglang_0_5_23, drafts);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].shape.parts == std::vector<ShapePart>{{.query = 2, .context = 3000, .drafts = 1, .count = 16}});
  CHECK(steps[0].seconds == doctest::Approx(16 * 1.5 / 1200));
}

TEST_CASE("edge: a log without such lines is refused with what to do") {
  for (const std::string& text :
       {std::string(), vllm_line(0, 400, 4, 60), vllm_line(0, 400, 4, 0) + vllm_line(0, 400, 4, 0),
        vllm_line(0, 400, 4, 60) + vllm_line(50, 400, 4, 60)})
    CHECK_THROWS_WITH_AS(read(text, vllm_0_33), doctest::Contains("generate for a minute"), InputError);
}

TEST_CASE("law: the log of a server that is slower by its launches moves the clock there, and prompts nowhere") {
  const testing::ScratchFolder folder;
  CalibrateQuestion question{.scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-35B-A3B\nengine: {release: vllm-0.33, memory: 60GiB}\nlimits: {max_model_len: 32768}\n"
      "simulate: {clock: {gpu: H200}}\n", "log.yaml"))};
  const CalibrateAnswer before = calibrate(question);
  Coefficients slower = before.served.clock->coefficients();
  for (const Coefficient which : {Coefficient::layer_us, Coefficient::moe_layer_us, Coefficient::mixer_layer_us,
                                  Coefficient::step_ms, Coefficient::seq_us, Coefficient::quant_layer_us,
                                  Coefficient::allreduce_us})
    slower[which] *= 1.8;
  const StepClock& clock = *before.served.clock;
  const StepClock truth(clock.model(), clock.split(), clock.gpu(), slower);
  // What is read of a first version of the log says where its sequences are.
  std::string text;
  for (const int pass : {0, 1}) {
    std::vector<double> rates;
    if (pass == 1)
      for (const CalibratedStep& step : calibrate(question).steps)
        rates.push_back(static_cast<double>(step.measured.shape.parts[0].count) /
                        truth.seconds(served_batch(step.measured.shape, clock.windows())));
    text.clear();
    std::size_t next = 0;
    for (const int running : {1, 8, 64}) {
      const double rate = pass == 1 ? rates.at(next++) : 100;
      for (int i = 0; i < 3; ++i) text += vllm_line(0, rate, running, 20);
    }
    question.logs = {folder.file("server" + std::to_string(pass) + ".log", text)};
  }
  const CalibrateAnswer answer = calibrate(question);
  REQUIRE(answer.steps.size() == 3);
  // 60 GiB hold 2,891 blocks of 1,088 tokens. A fifth of them among 1, 8 and 64 sequences, each without three blocks
  // for its states.
  const auto context = [&](std::size_t step) { return answer.steps[step].measured.shape.parts.at(0).context; };
  CHECK(context(0) == 625'818);
  CHECK(context(1) == 75'371);
  CHECK(context(2) == 6'565);
  CHECK(answer.step_before.median > 15);
  CHECK(answer.step_after.median < 5);
  const Coefficients& found = answer.served.source.coefficients;
  CHECK(std::abs(std::log(found[Coefficient::layer_us] / slower[Coefficient::layer_us])) < 0.2);
  for (const Coefficient which : {Coefficient::ttft_ms, Coefficient::eager_layer_us})
    CHECK(found[which] == doctest::Approx(clock.coefficients()[which]).epsilon(0.02));
  CHECK(answer.served.source.basis.find("prompts as the engine's clock has them") != std::string::npos);
}
