#pragma once

#include <string_view>

#include "planner/rule_of.h"

namespace hybridkv {

/// Where rules come from that a plan follows whichever engine it is for; empty for those that are an engine's own.
constexpr std::string_view shared_source(RuleOf rule) {
  switch (rule) {
    case RuleOf::small_pages: return "separate or small pages, modelled";
    case RuleOf::padded_heads: return "SGLang adjust_config_with_unaligned_cpu_tp";
    case RuleOf::shared_bias: return "vllm-gaudi PR 784";
    default: return {};
  }
}

/// The same, or what an engine says of all other rules.
constexpr std::string_view shared_source_or(RuleOf rule, std::string_view own) {
  const std::string_view shared = shared_source(rule);
  return shared.empty() ? own : shared;
}

}  // namespace hybridkv
