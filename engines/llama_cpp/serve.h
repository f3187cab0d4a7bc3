#pragma once

#include "engines/serve.h"

namespace hybridkv {

/// The choices of a server with slots, with the flags of llama-server.
std::vector<EngineSetting> llama_cpp_settings(const EngineSpec& engine);

/// The command line of llama-server.
ServeCommand serve_llama_cpp(const Served& served);

}  // namespace hybridkv
