#pragma once

#include "engines/engine_clock.h"
#include "engines/serve.h"

namespace hybridkv {

/// The choices of its cache, with the lines of kv_cache_config, or flags, that say them.
std::vector<EngineSetting> tensorrt_llm_settings(const EngineSpec& engine);

/// The command line of trtllm-serve, with the configuration that it reads from a file.
ServeCommand serve_tensorrt_llm(const Served& served);

/// A load test of its server by the tool of another engine, as its own writes no mean times of a server. Source: vLLM
/// 0.33, vllm bench serve --help.
std::string bench_tensorrt_llm(const LoadTestQuestion& question);

}  // namespace hybridkv
