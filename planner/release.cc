#include "planner/release.h"

#include <stdexcept>

namespace hybridkv {

const ReleaseRules& rules_of(Release release) {
  switch (release) {
    case Release::vllm_2026_06: return rules_of_vllm_2026_06;
    case Release::vllm_0_33: return rules_of_vllm_0_33;
    case Release::sglang_0_5_23: return rules_of_sglang_0_5_23;
    case Release::jenga: return rules_of_jenga;
    case Release::compact_slots: return rules_of_compact_slots;
    case Release::tensorrt_llm: return rules_of_tensorrt_llm;
    case Release::llama_cpp: return rules_of_llama_cpp;
  }
  throw std::logic_error("a release outside its enumeration");
}

const UnservedModels* unserved_by(const ReleaseRules& rules, std::string_view model) {
  for (const UnservedModels& models : rules.unserved)
    if (model.starts_with(models.name_begins)) return &models;
  return nullptr;
}

}  // namespace hybridkv
