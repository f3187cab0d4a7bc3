// The time of a step: worked numbers, and laws of machines, batches and parts.
#include "clock/step_clock.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "tests/clock/clock_cases.h"
#include "tests/close_to.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

StepBatch random_batch() {
  StepBatch batch;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    add_prompt(batch, *rc::gen::inRange(1, 9000), *rc::gen::inRange(0, 100000), {});
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) add_decode(batch, *rc::gen::inRange(1, 100000), {});
  return batch;
}

double seconds(const GpuSpeed& gpu, const StepBatch& batch, const ClockSplit& split = {}) {
  return StepClock(some_hybrid(), split, gpu, {}).seconds(batch);
}

}  // namespace

TEST_CASE("golden: tokens of Qwen3.5-397B touch 39 experts of 512 by four, 366 by 64") {
  CHECK(distinct_experts(512, 10, 4) == doctest::Approx(39).epsilon(0.01));
  CHECK(distinct_experts(512, 10, 64) == doctest::Approx(366).epsilon(0.01));
  CHECK(distinct_experts(512, 10, 0) == 0);
}

TEST_CASE("golden: a scan of 8192 tokens through one layer of Qwen3.5-397B takes 1.3 ms on an H200, 0.33 on eight") {
  ClockModel model;
  model.states.push_back({.layers = 1, .recurrence = 64 * 128 * 128, .state_bytes = 0});
  StepBatch batch;
  add_prompt(batch, 8192, 0, {});
  const auto scan = [&](double ranks) {
    model.states[0].recurrence = 64 * 128 * 128 / ranks;
    return StepClock(model, {}, some_gpu(), {}).parts(batch)[StepPart::scans];
  };
  CHECK(scan(1) == close_to(1.31e-3, 0.05));
  CHECK(scan(8) == close_to(0.33e-3, 0.05));
}

TEST_CASE("golden: two hundred and fifty-six decodes read and write the states of a layer in 0.6 ms") {
  ClockModel model;
  model.states.push_back({.layers = 1, .recurrence = 0, .state_bytes = 4.0 * 64 * 128 * 128 + 2 * 36864});
  StepBatch batch;
  for (int i = 0; i < 256; ++i) add_decode(batch, 1, {});
  Coefficients measured;
  measured[Coefficient::mem_eff] = 0.8;
  CHECK(StepClock(model, {}, some_gpu(), measured).parts(batch)[StepPart::states] == close_to(0.60e-3, 0.1));
}

TEST_CASE("golden: a window is read to its width, and no further") {
  ClockModel model;
  model.attention.push_back({.layers = 1, .token_bytes = 1000, .window = 128});
  const StepClock clock(model, {}, some_gpu(), {});
  StepBatch near, far;
  add_decode(near, 128, clock.windows());
  add_decode(far, 100000, clock.windows());
  CHECK(clock.parts(near)[StepPart::attention_decode] == clock.parts(far)[StepPart::attention_decode]);
  CHECK(clock.parts(far)[StepPart::attention_decode] > 0);
}

TEST_CASE("law: the parts of a step sum up to it, and none is below zero") {
  CHECK(rc::check([] {
    const StepClock clock(some_hybrid(), {4, 4}, some_gpu(), {});
    const StepParts parts = clock.parts(random_batch());
    double sum = 0;
    for (const StepPart part : all_step_parts) {
      RC_ASSERT(parts[part] >= 0);
      sum += parts[part];
    }
    RC_ASSERT(std::abs(sum - parts.total()) <= 1e-12 * sum);
  }));
}

TEST_CASE("law: more bandwidth, FLOP/s or link never makes a step slower") {
  CHECK(rc::check([] {
    const StepBatch batch = random_batch();
    const double before = seconds(some_gpu(), batch, {4, 4});
    for (double GpuSpeed::*speed : {&GpuSpeed::memory_bytes_per_second, &GpuSpeed::bf16_flops, &GpuSpeed::fp8_flops,
                                    &GpuSpeed::link_bytes_per_second}) {
      GpuSpeed faster = some_gpu();
      faster.*speed *= 1 + *rc::gen::inRange(1, 100) / 10.0;
      RC_ASSERT(seconds(faster, batch, {4, 4}) <= before);
    }
  }));
}

TEST_CASE("law: GPUs with a part of the requests each never make any part of a step slower but what they exchange") {
  CHECK(rc::check([] {
    const StepBatch batch = random_batch();
    StepBatch part = batch;
    part.elsewhere_rows = batch.rows() * 3;
    const StepParts alone = StepClock(some_hybrid(), {2, 2}, some_gpu(), {}).parts(batch);
    const StepParts shared = StepClock(some_hybrid(), {2, 8}, some_gpu(), {}).parts(part);
    for (const StepPart of : all_step_parts)
      if (of != StepPart::collectives) RC_ASSERT(shared[of] <= alone[of] * (1 + 1e-12));
  }));
}

TEST_CASE("law: experts take as long for the rows of all ranks, whichever of them has the rows") {
  CHECK(rc::check([] {
    const StepBatch batch = random_batch();
    if (batch.decoding == 0) return;
    StepBatch fewer = batch;
    fewer.decode_rows -= 1;
    fewer.elsewhere_rows += 1;
    const StepClock clock(some_hybrid(), {1, 8}, some_gpu(), {});
    RC_ASSERT(std::abs(clock.parts(fewer)[StepPart::experts] - clock.parts(batch)[StepPart::experts]) <= 1e-12);
    RC_ASSERT(clock.seconds(fewer) <= clock.seconds(batch));
  }));
}

TEST_CASE("golden: a step sends the rows of a rank to the GPUs of their experts and back, three bytes an element") {
  StepBatch batch;
  for (int i = 0; i < 100; ++i) add_decode(batch, 1, {});
  Coefficients no_latency;
  no_latency[Coefficient::allreduce_us] = 0;
  const ClockModel model = some_hybrid();
  // Ten experts of a token lie on eight GPUs at most, seven of which are others; half of 450 GB/s.
  CHECK(StepClock(model, {1, 8}, some_gpu(), no_latency).parts(batch)[StepPart::collectives] ==
        close_to(40 * 100 * 7.0 * 4096 * 3 / 225e9));
  CHECK(StepClock(model, {1, 1}, some_gpu(), no_latency).parts(batch)[StepPart::collectives] == 0);
  CHECK(StepClock(model, {1, 8}, some_gpu(), {}).workload(batch).allreduces == 40);
  CHECK(StepClock(model, {2, 8}, some_gpu(), {}).workload(batch).allreduces == 80);
}

TEST_CASE("law: a draft costs rows of the step and a layer of its own, never less and never as much as a step") {
  CHECK(rc::check([] {
    const auto sequences = *rc::gen::inRange(1, 200), context = *rc::gen::inRange(1, 100000);
    const std::int64_t drafts = *rc::gen::inRange(1, 6);
    StepBatch plain, drafted, rows;
    for (int i = 0; i < sequences; ++i) {
      add_decode(plain, context, {});
      add_decode(drafted, context, {}, drafts);
    }
    rows = drafted;
    rows.draft_passes = 0;
    const StepClock clock(some_hybrid(), {4, 4}, some_gpu(), {});
    RC_ASSERT(clock.seconds(rows) >= clock.seconds(plain));
    RC_ASSERT(clock.seconds(drafted) > clock.seconds(rows));
    RC_ASSERT(clock.seconds(drafted) - clock.seconds(rows) < static_cast<double>(drafts) * clock.seconds(plain));
  }));
}

TEST_CASE("law: tokens that were found never make a step slower than those that are computed") {
  CHECK(rc::check([] {
    const auto prompt = *rc::gen::inRange(2, 50000);
    const auto found = *rc::gen::inRange(0, prompt);
    StepBatch cold = random_batch(), warm = cold;
    add_prompt(cold, prompt, 0, {});
    add_prompt(warm, prompt - found, found, {});
    RC_ASSERT(seconds(some_gpu(), warm) <= seconds(some_gpu(), cold) * (1 + 1e-12));
  }));
}

TEST_CASE("law: no step ends before the bytes that it needs could be read") {
  CHECK(rc::check([] {
    const StepBatch batch = random_batch();
    if (batch.prompt_tokens + batch.decode_rows == 0) return;
    const ClockModel model = some_hybrid();
    double bytes = model.dense_parameters * model.dense.bytes;
    for (const AttentionWork& layers : model.attention)
      bytes += static_cast<double>(layers.layers) * layers.token_bytes * (batch.decode_context + batch.prompt_context);
    RC_ASSERT(seconds(some_gpu(), batch) >= bytes / some_gpu().memory_bytes_per_second);
  }));
}

TEST_CASE("edge: a batch with hits reads what it found: a short prompt behind a long prefix is no short prompt") {
  StepBatch alone, behind;
  add_prompt(alone, 128, 0, {});
  add_prompt(behind, 128, 500000, {});
  CHECK(seconds(some_gpu(), behind) > seconds(some_gpu(), alone) + 10.0 * 2048 * 500000 / 4.8e12);
}

TEST_CASE("golden: a step waits for loads before it, and of loads beside it for what outlasts it") {
  const StepClock clock(some_hybrid(), {}, some_gpu(), {});
  StepBatch batch = some_batch();
  const double alone = clock.seconds(batch);
  batch.loaded_beside_seconds = alone / 2;
  CHECK(clock.seconds(batch) == alone);
  batch.loaded_beside_seconds = 3 * alone;
  CHECK(clock.seconds(batch) == close_to(3 * alone));
  CHECK(clock.parts(batch)[StepPart::loads] == close_to(2 * alone));
  batch.loaded_seconds = alone;
  CHECK(clock.seconds(batch) == close_to(4 * alone));
}

TEST_CASE("edge: a layer's only expert is read whole in every step") {
  ClockModel model = some_hybrid();
  model.experts = model.experts_per_token = 1;
  // 1.2e11 parameters of 2 bytes at 4.8 TB/s.
  CHECK(StepClock(model, {}, some_gpu(), {}).workload(some_batch()).experts.byte_seconds == close_to(0.05));
}

TEST_CASE("edge: experts in four bits launch less where the GPU multiplies them, more where they are unpacked") {
  GpuSpeed blackwell = some_gpu();
  blackwell.fp4_flops = 9e15;
  ClockModel model = some_hybrid();
  const auto launches = [&](const GpuSpeed& gpu, double bits) {
    model.expert = weight_format(bits, gpu);
    return StepClock(model, {}, gpu, {}).workload(some_batch()).moe_layers;
  };
  CHECK(launches(blackwell, 4.5) < launches(blackwell, 8));
  CHECK(launches(some_gpu(), 4.5) > launches(some_gpu(), 8));
  const double beside = launches(some_gpu(), 8);
  model.shared_expert = false;
  CHECK(launches(some_gpu(), 8) == beside / 2);
}

TEST_CASE("edge: experts that are unpacked multiply at a quarter of the peak of a GPU with products in four bits") {
  GpuSpeed blackwell = some_gpu();
  blackwell.fp4_flops = 9e15;
  ClockModel model = some_hybrid();
  model.expert = {.bytes = 0.5625, .type = ComputeType::bf16};
  const auto seconds_of = [&](const GpuSpeed& gpu) {
    return StepClock(model, {}, gpu, {}).workload(some_batch()).experts.flop_seconds;
  };
  CHECK(seconds_of(blackwell) == close_to(4 * seconds_of(some_gpu())));
  model.expert.bytes = 2;
  CHECK(seconds_of(blackwell) == close_to(seconds_of(some_gpu())));
}
