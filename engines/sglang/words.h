#pragma once

#include "engines/command_grammar.h"

namespace hybridkv {

/// `python -m sglang.launch_server`. Source: SGLang 0.5.23 ServerArgs.
extern const CommandGrammar command_of_sglang;

}  // namespace hybridkv
