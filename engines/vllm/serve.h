#pragma once

#include "engines/engine_clock.h"
#include "engines/serve.h"

namespace hybridkv {

/// How vLLM is started. Sources: engine arguments of vLLM 0.33 and its documentation.
ServeCommand serve_vllm(const Served& served);

/// The choices of a layout with blocks, and its flags for them.
std::vector<EngineSetting> vllm_settings(const BlockChoice& choice);

/// The mode and the size of blocks, with their flags.
std::vector<EngineSetting> vllm_planned_settings(const PlannedChoice& choice);

/// Its own load test. Source: vLLM 0.33, vllm bench serve --help.
std::string bench_vllm(const LoadTestQuestion& question);

/// Its benchmark of forward passes. Source: vLLM 0.33.0, `vllm bench forward`.
std::string forward_vllm(const std::string& model, const std::string& shapes, const std::string& result);

}  // namespace hybridkv
