#pragma once

#include "engines/conformance.h"

namespace hybridkv {

/// How vLLM 0.33.0 is asked: its planning runs without a GPU.
extern const Conformance conformance_of_vllm_0_33;

}  // namespace hybridkv
