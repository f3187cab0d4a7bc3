#pragma once

#include <string>

#include "planner/plan.h"
#include "tests/planner/models.h"

namespace hybridkv::testing {

/// Requests of 32,768 tokens.
inline const LimitsSpec at_32k{.max_model_lens = {32'768}};

/// The path of what a plan at that length is refused for, or "accepted".
inline std::string path_of_refusal(const EngineSpec& engine, const ModelSpec& model = qwen35_397b()) {
  try {
    make_plan(model, engine, at_32k);
  } catch (const SpecError& error) {
    return error.path();
  }
  return "accepted";
}

}  // namespace hybridkv::testing
