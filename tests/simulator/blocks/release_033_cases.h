#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "engines/vllm/rules.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/match_unit_rules.h"
#include "test_paths.h"

namespace hybridkv::testing {

/// A cache with the rules of vLLM 0.33 and its default retention interval, 0: one attention group beside the states.
inline CacheGeometry geometry_033(std::int64_t block, std::int64_t blocks, std::int64_t state_groups) {
  CacheGeometry geometry{.block_size_tokens = block, .num_blocks = blocks, .state_groups = state_groups,
                         .retention_interval_tokens = 0};
  geometry.rules.engine = &rules_of_vllm_0_33;
  geometry.rules.blocks = &match_unit_rules;
  return geometry;
}

/// A file of results of vLLM 0.33: from the tests' own data, else from the folder that HYBRIDKV_CASES_DIR names;
/// nothing after saying that the test is skipped.
inline std::optional<std::string> case_033(const std::string& file) {
  const std::string own = HYBRIDKV_TEST_DATA "/vllm-0.33/simulator/" + file;
  if (std::filesystem::exists(own)) return own;
  if (const char* folder = std::getenv("HYBRIDKV_CASES_DIR")) {
    const std::string given = std::string(folder) + "/vllm-0.33/" + file;
    if (std::filesystem::exists(given)) return given;
    std::printf("SKIPPED: $HYBRIDKV_CASES_DIR lacks vllm-0.33/%s\n", file.c_str());
    return std::nullopt;
  }
  std::printf("SKIPPED: %s is looked for in $HYBRIDKV_CASES_DIR/vllm-0.33, which is not set\n", file.c_str());
  return std::nullopt;
}

}  // namespace hybridkv::testing
