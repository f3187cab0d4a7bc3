#pragma once

#include "engines/engine.h"
#include "engines/llama_cpp/rules.h"
#include "engines/llama_cpp/serve.h"

namespace hybridkv {

/// llama.cpp and its server, as they run.
inline constexpr Engine llama_cpp{.rules = &rules_of_llama_cpp,
                                  .replay = slot_cache_of,
                                  .abilities = &abilities_of_slots,
                                  .serve = serve_llama_cpp,
                                  .own_settings = llama_cpp_settings};

}  // namespace hybridkv
