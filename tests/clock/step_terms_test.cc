// The products of which a step's time is made: they say the same as the clock that computes it.
#include "clock/step_terms.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "tests/clock/clock_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// A hybrid with all that costs time: windows, latents, states, experts in few bits.
ClockModel random_model() {
  ClockModel model = some_hybrid();
  model.latent_layers = *rc::gen::inRange<std::int64_t>(0, 3);
  if (*rc::gen::arbitrary<bool>())
    model.attention.push_back(
        {.layers = 3, .prefill_flops = 4e4, .decode_flops = 5e4, .token_bytes = 700, .window = 512});
  if (*rc::gen::arbitrary<bool>()) model.experts = model.moe_layers = 0;
  model.shared_expert = *rc::gen::arbitrary<bool>();
  model.expert.bytes = *rc::gen::element(0.5625, 1.0, 2.0);
  model.expert.type = *rc::gen::element(ComputeType::bf16, ComputeType::fp8, ComputeType::fp4);
  model.dense.type = *rc::gen::element(ComputeType::bf16, ComputeType::fp8);
  return model;
}

StepBatch random_batch(const StepClock& clock) {
  StepBatch batch;
  const std::int64_t drafts = *rc::gen::inRange<std::int64_t>(0, 4);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    add_prompt(batch, *rc::gen::inRange(1, 9000), *rc::gen::inRange(0, 100000), clock.windows());
  for (int i = *rc::gen::inRange(0, 40); i > 0; --i)
    add_decode(batch, *rc::gen::inRange(1, 100000), clock.windows(), drafts);
  batch.sampled += batch.prompts;
  batch.copied_states = *rc::gen::inRange(0, 3);
  batch.loaded_seconds = 1e-3 * *rc::gen::inRange(0, 3);
  batch.loaded_beside_seconds = *rc::gen::element(0.0, 1e-3, 5.0);
  batch.elsewhere_rows = *rc::gen::inRange(0, 2) * batch.rows();
  return batch;
}

/// Seconds of each part by these terms.
StepParts parts_of(const std::vector<StepTerm>& terms) {
  StepParts parts;
  for (const StepPart part : all_step_parts) {
    double seconds[term_kind_names.size()] = {};
    for (const StepTerm& term : terms)
      if (term.part == part) seconds[static_cast<std::size_t>(term.kind)] += term.seconds();
    parts[part] = std::max(seconds[static_cast<std::size_t>(TermKind::flops)],
                           seconds[static_cast<std::size_t>(TermKind::bytes)]) +
                  seconds[static_cast<std::size_t>(TermKind::time)];
  }
  return parts;
}

}  // namespace

TEST_CASE("law: the terms of a step say of every part what the clock says") {
  CHECK(rc::check([] {
    const std::int64_t ranks = *rc::gen::element<std::int64_t>(1, 2, 4);
    const ClockSplit split{ranks, ranks * *rc::gen::element<std::int64_t>(1, 2)};
    GpuSpeed gpu = some_gpu();
    if (*rc::gen::arbitrary<bool>()) gpu.fp4_flops = 9e15;
    const StepClock clock(random_model(), split, gpu, {});
    const StepBatch batch = random_batch(clock);
    const std::vector<StepTerm> terms = step_terms(clock, batch);
    const StepParts derived = parts_of(terms), computed = clock.parts(batch);
    for (const StepPart part : all_step_parts) {
      RC_LOG() << to_string(part) << ": " << derived[part] << " and " << computed[part] << '\n';
      RC_ASSERT(std::abs(derived[part] - computed[part]) <= 1e-12 * computed[part]);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      RC_ASSERT(terms[i].seconds() > 0);
      if (i > 0) RC_ASSERT(terms[i - 1].part <= terms[i].part);
    }
  }));
}
