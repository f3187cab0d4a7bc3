#pragma once

#include "engines/vllm/rules_0_33.h"

namespace hybridkv {

/// Throws SpecError for what 0.33 refuses, and for drafters whose prefixes nobody asked 0.32 about.
void validate_vllm_0_32(const ModelSpec& model, const EngineSpec& engine);
/// Where the rules of 0.32 come from: 0.33 has the same functions, but for those that it moved.
std::string_view source_of_vllm_0_32(RuleOf rule);

/// vLLM 0.32.0, by running its own functions: the release after it without what that one brought. Scans of gdn export
/// no states, so that blocks are no multiples of theirs; hashes cover the tokens of their block alone, so that a
/// drafter costs a block of what is found.
inline constexpr EngineRules rules_of_vllm_0_32 = [] {
  EngineRules rules = rules_of_vllm_0_33;
  rules.builder = {};  // the interface of builders came with 0.33
  rules.name = "vllm-0.32";
  rules.title = "vLLM 0.32.0";
  rules.source = source_of_vllm_0_32;
  rules.validate = validate_vllm_0_32;
  rules.drafts_look_ahead = false;
  rules.aligns_to_checkpoints = false;
  return rules;
}();

}  // namespace hybridkv
