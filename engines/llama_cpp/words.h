#pragma once

#include "engines/command_grammar.h"

namespace hybridkv {

/// `llama-server`. Source: llama.cpp common/arg.cpp at 0c1e570.
extern const CommandGrammar command_of_llama_cpp;

}  // namespace hybridkv
