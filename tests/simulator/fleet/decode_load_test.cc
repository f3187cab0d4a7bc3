// A load test of replicas that generate behind others' prompts, against steps that are counted by hand.
#include "simulator/fleet/decode_load.h"

#include <doctest/doctest.h>

#include "tests/clock/clock_cases.h"
#include "tests/close_to.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

DecodeLoad some_load(std::int64_t clients, std::int64_t requests) {
  const DriverSpec side{.clock = std::make_shared<const StepClock>(some_hybrid(), ClockSplit{}, some_gpu(),
                                                                   Coefficients{})};
  return {.test = {.input_tokens = 2000, .output_tokens = 50, .concurrency = clients, .requests = requests},
          .prompts = side,
          .outputs = side,
          .decode = {.replicas = 1, .link_bytes_per_second = 50e9}};
}

}  // namespace

TEST_CASE("golden: one client's request takes its prompt's step, the link and a step of each further token") {
  const DecodeLoad load = some_load(1, 1);
  const StepClock& clock = *load.prompts.clock;
  const LoopRequest request = request_of(load.test, 0);
  const auto prompt = static_cast<double>(request.prompt), outputs = static_cast<double>(request.outputs);
  StepBatch first, further;
  add_prompt(first, prompt, 0, {});
  first.sampled = 1;
  add_decode(further, prompt + outputs / 2, {});
  const double link = sequence_bytes(clock.model(), prompt) / 50e9, step = clock.seconds(further);
  const LoadFigures figures = figures_of(load);
  CHECK(figures.first_token ==
        close_to(clock.seconds(first) + link + step + clock.first_token_seconds(), 0.01));
  CHECK(figures.output_token == close_to(step * (outputs - 2) / (outputs - 1), 0.01));
}

TEST_CASE("law: more replicas on either side make no client wait longer, and decodes do not wait for prompts") {
  const DecodeLoad one = some_load(32, 320);
  DecodeLoad prompts = one, outputs = one;
  prompts.prompt_replicas = 4;
  outputs.decode.replicas = 4;
  const LoadFigures few = figures_of(one), more_prompts = figures_of(prompts), more_outputs = figures_of(outputs);
  CHECK(more_prompts.first_token < few.first_token);
  CHECK(more_outputs.output_token < few.output_token);
  // One engine that does both stops its decodes for prompts.
  const DriverSpec& side = one.prompts;
  const LoadFigures both = figures_of(load_steps(one.test, side.loop, side.clock->windows()), *side.clock);
  CHECK(few.output_token < both.output_token);
}
