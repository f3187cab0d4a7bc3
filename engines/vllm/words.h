#pragma once

#include "engines/command_grammar.h"

namespace hybridkv {

/// `vllm serve` and its older spelling. Source: vLLM 0.33 EngineArgs, FlexibleArgumentParser (underscores and hyphens
/// are one, a JSON mapping may be written key by key, k is 1,000 and K is 1,024 where numbers are large).
extern const CommandGrammar command_of_vllm;

}  // namespace hybridkv
