#pragma once

#include "engines/serve.h"

namespace hybridkv {

/// How SGLang is started. Source: server_args of SGLang 0.5.23.
ServeCommand serve_sglang(const Served& served);

/// The choices of its pools and its tree, and its flags for them.
std::vector<EngineSetting> sglang_settings(const EngineSpec& engine);

}  // namespace hybridkv
