#pragma once

#include <vector>

#include "engines/serve.h"

namespace hybridkv {

/// Its slots and their checkpoints, and the command line of its server.
std::vector<EngineSetting> llama_cpp_settings(const EngineSpec& engine);
ServeCommand serve_llama_cpp(const Served& served);

}  // namespace hybridkv
