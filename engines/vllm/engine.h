#pragma once

#include "engines/engine.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/serve.h"
#include "simulator/match_unit_rules.h"

namespace hybridkv {

/// vLLM's main branch of June 2026 with PR 35703.
inline constexpr Engine vllm_2026_06{.rules = &rules_of_vllm_2026_06,
                                     .blocks = &plain_block_rules,
                                     .replay = block_cache_of,
                                     .serve = serve_vllm,
                                     .block_settings = vllm_settings};

/// vLLM 0.33.0.
inline constexpr Engine vllm_0_33 = [] {
  Engine engine = vllm_2026_06;
  engine.rules = &rules_of_vllm_0_33;
  engine.blocks = &match_unit_rules;
  return engine;
}();

}  // namespace hybridkv
