#pragma once

#include <doctest/doctest.h>

#include "ask/plan.h"
#include "scenarios/read.h"

namespace hybridkv::testing {

/// The plan of a small server with slots, whose rows a test may change.
inline CachePlan slots_plan() {
  const CachePlan plan = plan_pack(
      read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {release: llama.cpp, memory: 4 GiB, cache_mode: align}\n"
                                   "limits: {max_model_len: 4096}\n",
                                   "slots.yaml")),
      0);
  REQUIRE(plan.rows.has_value());
  return plan;
}

}  // namespace hybridkv::testing
