#pragma once

#include "engines/start.h"
#include "engines/start_log.h"

namespace hybridkv {

/// How vLLM starts. Source: vLLM 0.33 (interface.py, kv_cache_utils.py, gpu_worker.py, EngineArgs).
extern const EngineStart start_of_vllm;

/// The log lines of vLLM 0.10 to 0.33.
extern const LogTexts log_texts_of_vllm;
/// What vLLM 0.10 to 0.33 prints as it serves. Source: vLLM v1/metrics/loggers.py.
extern const RunTexts run_texts_of_vllm;
/// What they leave open under each of its rules.
extern const EngineLog log_of_vllm_2026_06;
extern const EngineLog log_of_vllm_0_33;

}  // namespace hybridkv
