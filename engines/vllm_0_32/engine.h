#pragma once

#include "engines/vllm/engine.h"
#include "engines/vllm_0_32/conformance.h"
#include "engines/vllm_0_32/rules.h"
#include "engines/vllm_0_32/start_log.h"

namespace hybridkv {

/// vLLM 0.32.0.
inline constexpr Engine vllm_0_32 = [] {
  Engine engine = vllm_0_33;
  engine.rules = &rules_of_vllm_0_32;
  engine.successor = &vllm_0_33;
  engine.label = "vLLM 0.32";
  engine.log = &log_of_vllm_0_32;
  engine.conformance = &conformance_of_vllm_0_32;
  engine.emit = nullptr;
  return engine;
}();

}  // namespace hybridkv
