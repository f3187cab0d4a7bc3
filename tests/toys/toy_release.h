#pragma once

#include "engines/engine.h"

namespace hybridkv::testing {

/// A release of tomorrow: vLLM 0.33 that keeps every state it writes rather than the last one of a prompt.
const Engine& toy_release();

}  // namespace hybridkv::testing
