#pragma once

#include "engines/conformance.h"

namespace hybridkv {

/// How SGLang 0.5.23 is asked: it splits the memory without a GPU.
extern const Conformance conformance_of_sglang;

}  // namespace hybridkv
