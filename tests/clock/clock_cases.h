// Models and machines of the tests of the clock.
#pragma once

#include "clock/step_clock.h"

namespace hybridkv::testing {

/// Roughly an H200.
inline GpuSpeed some_gpu() {
  return {.memory_bytes_per_second = 4.8e12,
          .bf16_flops = 989e12,
          .fp8_flops = 1978e12,
          .link_bytes_per_second = 450e9,
          .scan_head_seconds = 2.5e-9};
}

/// A hybrid with experts: 30 layers with states, 10 with attention, 512 experts of which a token takes 10.
inline ClockModel some_hybrid() {
  ClockModel model;
  model.hidden = 4096;
  model.layers = 40;
  model.attention.push_back(
      {.layers = 10, .prefill_flops = 32768, .decode_flops = 32768, .token_bytes = 2048, .window = 0});
  model.states.push_back({.layers = 30, .recurrence = 1048576, .state_bytes = 2.2e6});
  model.dense_parameters = 7e9;
  model.expert_parameters = 1.2e11;
  model.experts = 512;
  model.experts_per_token = 10;
  model.moe_layers = 40;
  model.shared_expert = true;
  model.head_parameters = 1e9;
  return model;
}

/// A batch that has all there is: two prompts, one behind a hit, and three sequences that generate.
inline StepBatch some_batch() {
  StepBatch batch;
  add_prompt(batch, 2000, 0, {});
  add_prompt(batch, 500, 30000, {});
  batch.sampled += 2;
  for (const double context : {100.0, 5000.0, 70000.0}) add_decode(batch, context, {});
  return batch;
}

}  // namespace hybridkv::testing
