#pragma once

#include "engines/engine.h"
#include "engines/sglang/rules.h"
#include "engines/sglang/serve.h"

namespace hybridkv {

/// SGLang 0.5.23.
inline constexpr Engine sglang_0_5_23{.rules = &rules_of_sglang_0_5_23,
                                      .replay = tree_cache_of,
                                      .abilities = &abilities_of_trees,
                                      .serve = serve_sglang,
                                      .own_settings = sglang_settings};

}  // namespace hybridkv
