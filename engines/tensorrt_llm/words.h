#pragma once

#include "engines/command_grammar.h"

namespace hybridkv {

/// `trtllm-serve` with the YAML file of its --config. Source: TensorRT-LLM, commands/serve.py and llm_args.py, as
/// engines/tensorrt_llm/rules.h.
extern const CommandGrammar command_of_tensorrt_llm;

}  // namespace hybridkv
