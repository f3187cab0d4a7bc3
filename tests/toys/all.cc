// The engines of this test program, in place of engines/all.cc.
#include <array>

#include "engines/vllm/engine.h"
#include "tests/toys/toy_release.h"

namespace hybridkv {

std::span<const Engine* const> all_engines() {
  static const std::array<const Engine*, 3> engines{&vllm_2026_06, &vllm_0_33, &testing::toy_release()};
  return engines;
}

std::span<const EngineRules* const> all_engine_rules() {
  static const std::array<const EngineRules*, 3> rules{&rules_of_vllm_2026_06, &rules_of_vllm_0_33,
                                                       testing::toy_release().rules};
  return rules;
}

}  // namespace hybridkv
