#pragma once

#include "engines/start_log.h"

namespace hybridkv {

/// What a log of llama.cpp and its server says, and what its rules make of it.
extern const EngineLog log_of_llama_cpp;

}  // namespace hybridkv
