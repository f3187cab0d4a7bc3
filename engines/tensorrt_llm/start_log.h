#pragma once

#include "engines/start_log.h"

namespace hybridkv {

/// What a log of TensorRT-LLM says, and what its rules make of it.
extern const EngineLog log_of_tensorrt_llm;

}  // namespace hybridkv
