// The engines of this test program, in place of engines/all.cc.
#include <array>

#include "engines/vllm/engine.h"
#include "tests/toys/first_come/engine.h"
#include "tests/toys/toy_release.h"

namespace hybridkv {

std::span<const Engine* const> all_engines() {
  static const std::array<const Engine*, 4> engines{&vllm_2026_06, &vllm_0_33, &testing::toy_release(),
                                                    &testing::first_come_engine};
  return engines;
}

std::span<const EngineRules* const> all_engine_rules() {
  static const std::array<const EngineRules*, 4> rules{&rules_of_vllm_2026_06, &rules_of_vllm_0_33,
                                                       testing::toy_release().rules, testing::first_come_engine.rules};
  return rules;
}

}  // namespace hybridkv
