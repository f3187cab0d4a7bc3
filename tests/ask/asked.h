#pragma once

#include <string>
#include <string_view>

#include "scenarios/read.h"

namespace hybridkv::testing {

/// A small scenario of Qwen3.5-0.8B in 1 GiB, 4,096 tokens, mode align. `engine` and `more` are further lines of YAML,
/// the first of the section engine.
inline ScenarioFile small_file(std::string_view engine = "", std::string_view more = "") {
  return parse_scenario("model: Qwen3.5-0.8B\nengine:\n  memory: 1 GiB\n  cache_mode: align\n" + std::string(engine) +
                            "limits:\n  max_model_len: 4096\n" + std::string(more),
                        "small.yaml");
}

inline Scenario small_scenario(std::string_view engine = "", std::string_view more = "") {
  return read_scenario(small_file(engine, more));
}

}  // namespace hybridkv::testing
