#pragma once

#include <string>
#include <string_view>

#include "scenarios/read.h"

namespace hybridkv::testing {

/// Lines of the section engine, by the rules of June 2026 where they name no release.
inline std::string by_june(std::string_view engine) {
  return std::string(engine) + (engine.find("release:") == engine.npos ? "  release: vllm-2026-06\n" : "");
}

/// A small scenario of Qwen3.5-0.8B in 1 GiB, 4,096 tokens, mode align, by the rules of June 2026 where nothing else is
/// said. `engine` and `more` are further lines of YAML, the first of the section engine.
inline ScenarioFile small_file(std::string_view engine = "", std::string_view more = "") {
  return parse_scenario("model: Qwen3.5-0.8B\nengine:\n  memory: 1 GiB\n  cache_mode: align\n" + by_june(engine) +
                            "limits:\n  max_model_len: 4096\n" + std::string(more),
                        "small.yaml");
}

inline Scenario small_scenario(std::string_view engine = "", std::string_view more = "") {
  return read_scenario(small_file(engine, more));
}

}  // namespace hybridkv::testing
