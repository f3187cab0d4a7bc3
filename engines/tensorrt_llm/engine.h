#pragma once

#include "engines/engine.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/tensorrt_llm/serve.h"

namespace hybridkv {

/// TensorRT-LLM's second cache manager.
inline constexpr Engine tensorrt_llm{.rules = &rules_of_tensorrt_llm,
                                     .replay = snapshot_cache_of,
                                     .abilities = &abilities_of_snapshots,
                                     .serve = serve_tensorrt_llm,
                                     .own_settings = tensorrt_llm_settings};

}  // namespace hybridkv
