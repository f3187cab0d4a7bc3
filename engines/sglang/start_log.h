#pragma once

#include "engines/start_log.h"

namespace hybridkv {

/// What a log of SGLang 0.5.23 says, and what its rules make of it.
extern const EngineLog log_of_sglang;

}  // namespace hybridkv
