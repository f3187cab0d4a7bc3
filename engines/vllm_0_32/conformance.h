#pragma once

#include "engines/conformance.h"

namespace hybridkv {

/// How vLLM 0.32.0 is asked: by the driver and the settings of 0.33.
extern const Conformance conformance_of_vllm_0_32;

}  // namespace hybridkv
