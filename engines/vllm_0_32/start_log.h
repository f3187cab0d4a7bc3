#pragma once

#include "engines/start_log.h"

namespace hybridkv {

/// The log lines of vLLM 0.32, which are those of the releases around it.
extern const EngineLog log_of_vllm_0_32;

}  // namespace hybridkv
