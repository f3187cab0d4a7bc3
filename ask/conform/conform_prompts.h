#pragma once

#include <cstdint>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// Consecutive tokens of a prompt that have one content.
struct PromptPart {
  std::uint64_t content = 0;  ///< a token is a function of it and of its position in the prompt
  std::int64_t tokens = 0;
};
using ConformPrompt = std::vector<PromptPart>;

/// Prompts of which many begin as an earlier one does, none longer than `longest` tokens; the same key, the same
/// prompts.
std::vector<ConformPrompt> conform_prompts(std::uint64_t key, std::int64_t longest);

/// The same as requests of a trace.
TraceBatch trace_of(const std::vector<ConformPrompt>& prompts);

}  // namespace hybridkv
