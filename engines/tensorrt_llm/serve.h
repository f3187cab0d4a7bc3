#pragma once

#include "engines/serve.h"

namespace hybridkv {

/// The choices of its cache, with the lines of kv_cache_config, or flags, that say them.
std::vector<EngineSetting> tensorrt_llm_settings(const EngineSpec& engine);

/// The command line of trtllm-serve, with the configuration that it reads from a file.
ServeCommand serve_tensorrt_llm(const Served& served);

}  // namespace hybridkv
