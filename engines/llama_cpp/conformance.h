#pragma once

#include "engines/conformance.h"

namespace hybridkv {

/// How llama-server b11312 is asked: it is started on tiny models, and prints the sizes of its caches.
extern const Conformance conformance_of_llama_cpp;

}  // namespace hybridkv
