#pragma once

#include <string>
#include <vector>

#include "clock/forward_file.h"
#include "clock/rank_loop.h"
#include "engines/run_texts.h"

namespace hybridkv {

/// Steps of a server in which sequences generate and no prompt is computed, from the lines that it prints every few
/// seconds: so many running and so many tokens a second of them give the time of a step, the usage of the cache how far
/// they are. A line counts whose two numbers were the same over its interval: the line before has as many running, and
/// neither has prompts. Lines of as many sequences, about as far, are one step, of the median time.
/// `rules`: of the engine's loop, with the tokens of its cache. Throws InputError where no line counts.
std::vector<MeasuredShape> read_decode_log(const std::string& file, const RunTexts& texts, const LoopRules& rules);

}  // namespace hybridkv
