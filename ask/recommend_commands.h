#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ask/recommend.h"
#include "ask/recommend_radix.h"
#include "scenarios/command_words.h"

namespace hybridkv {

/// The commands that plan a candidate of an engine with blocks, and replay the workload through it: they say the
/// candidate's numbers again. `asked`: how the question is typed; `lengths`: those of its scenario.
std::vector<std::string> block_commands(const CommandWords& asked, const RecommendQuestion& question,
                                        const RecommendAnswer& answer, std::size_t candidate,
                                        const std::vector<std::int64_t>& lengths);

/// The same of the pick of an engine with radix pools.
std::vector<std::string> radix_commands(const CommandWords& asked, const RadixRecommendAnswer& answer,
                                        const std::vector<std::int64_t>& lengths);

}  // namespace hybridkv
