#include <array>

#include "engines/engine.h"

#include "engines/compact_slots/rules.h"
#include "engines/jenga/rules.h"
#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/sglang/serve.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/serve.h"

namespace hybridkv {

namespace {

constexpr Engine vllm_2026_06{.rules = &rules_of_vllm_2026_06, .serve = serve_vllm, .block_settings = vllm_settings};
constexpr Engine vllm_0_33{.rules = &rules_of_vllm_0_33, .serve = serve_vllm, .block_settings = vllm_settings};
constexpr Engine sglang_0_5_23{
    .rules = &rules_of_sglang_0_5_23, .serve = serve_sglang, .own_settings = sglang_settings};
constexpr Engine jenga{.rules = &rules_of_jenga};
constexpr Engine compact_slots{.rules = &rules_of_compact_slots};
constexpr Engine tensorrt_llm{.rules = &rules_of_tensorrt_llm};
constexpr Engine llama_cpp{.rules = &rules_of_llama_cpp};

constexpr std::array<const Engine*, 7> engines{&vllm_2026_06, &vllm_0_33,    &sglang_0_5_23, &jenga,
                                               &compact_slots, &tensorrt_llm, &llama_cpp};

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
