#pragma once

#include <string_view>

#include "planner/rule_of.h"

namespace hybridkv {

/// Where rules come from that a plan follows whichever engine it is for; `others`: what the engine says of the rest.
constexpr std::string_view shared_source(RuleOf rule, std::string_view others = {}) {
  switch (rule) {
    case RuleOf::small_pages: return "separate or small pages, modelled";
    case RuleOf::padded_heads: return "SGLang adjust_config_with_unaligned_cpu_tp";
    case RuleOf::shared_bias: return "vllm-gaudi PR 784";
    default: return others;
  }
}

}  // namespace hybridkv
