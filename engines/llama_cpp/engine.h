#pragma once

#include "engines/engine.h"
#include "engines/llama_cpp/conformance.h"
#include "engines/llama_cpp/rules.h"
#include "engines/llama_cpp/serve.h"
#include "engines/llama_cpp/start_log.h"
#include "engines/llama_cpp/words.h"

namespace hybridkv {

inline constexpr EngineAxis axes_of_llama_cpp[] = {{&search_axis::slots, tried<1, 2, 4, 8, 16, 32, 64>},
                                                   {&search_axis::slot_checkpoints, tried<0, 8, 32, 64>},
                                                   {&search_axis::checkpoint_steps, tried<8192, 1024, 0>},
                                                   {&search_axis::cache_rams, tried<8192, 0, 32768, 131072>}};

/// llama.cpp and its server, as they run.
inline constexpr Engine llama_cpp{.rules = &rules_of_llama_cpp,
                                  .replay = slot_cache_of,
                                  .abilities = &abilities_of_slots,
                                  .axes = axes_of_llama_cpp,
                                  .log = &log_of_llama_cpp,
                                  .conformance = &conformance_of_llama_cpp,
                                  .command = &command_of_llama_cpp,
                                  .serve = serve_llama_cpp,
                                  .own_settings = llama_cpp_settings};

}  // namespace hybridkv
