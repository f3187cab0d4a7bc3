#pragma once

#include "engines/engine_clock.h"
#include "engines/serve.h"

namespace hybridkv {

/// How SGLang is started. Source: server_args of SGLang 0.5.23.
ServeCommand serve_sglang(const Served& served);

/// The choices of its pools and its tree, and its flags for them.
std::vector<EngineSetting> sglang_settings(const EngineSpec& engine);

/// Its own load test. Source: SGLang 0.5.23, bench_serving.py.
std::string bench_sglang(const LoadTestQuestion& question);

}  // namespace hybridkv
