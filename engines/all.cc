#include <array>

#include "engines/compact_slots/engine.h"
#include "engines/jenga/engine.h"
#include "engines/llama_cpp/engine.h"
#include "engines/sglang/engine.h"
#include "engines/tensorrt_llm/engine.h"
#include "engines/vllm/engine.h"
#include "engines/vllm_0_32/engine.h"

namespace hybridkv {

namespace {

constexpr std::array engines{&vllm_2026_06, &vllm_0_32,     &vllm_0_33,    &sglang_0_5_23,
                             &jenga,        &compact_slots, &tensorrt_llm, &llama_cpp};

}  // namespace

std::span<const Engine* const> all_engines() { return engines; }

std::span<const EngineRules* const> all_engine_rules() {
  static constexpr auto rules = [] {
    std::array<const EngineRules*, engines.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = engines[i]->rules;
    return all;
  }();
  return rules;
}

}  // namespace hybridkv
