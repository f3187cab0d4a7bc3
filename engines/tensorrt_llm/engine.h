#pragma once

#include "engines/engine.h"
#include "engines/tensorrt_llm/rules.h"

namespace hybridkv {

/// TensorRT-LLM's second cache manager, from its source.
inline constexpr Engine tensorrt_llm{.rules = &rules_of_tensorrt_llm,
                                     .blocks = &plain_block_rules,
                                     .replay = block_cache_of,
                                     .replayed = Evidence::source_only,
                                     .axes = axes_of_read_blocks};

}  // namespace hybridkv
