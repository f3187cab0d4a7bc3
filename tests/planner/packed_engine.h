#pragma once

#include <cstdint>

#include "engines/vllm/rules.h"
#include "planner/engine_spec.h"
#include "tests/planner/models.h"

namespace hybridkv::testing {

/// 0.33 on two ranks of 40 GiB, with so many attention layers a page.
inline EngineSpec packed_engine(std::int64_t pack) {
  return {.rules = &rules_of_vllm_0_33,
          .backend_profile = BackendProfile::sm90,
          .tensor_parallel = 2,
          .cache_mode = CacheMode::align,
          .attention_pack_size = pack,
          .memory_bytes = 40 * gib};
}

}  // namespace hybridkv::testing
