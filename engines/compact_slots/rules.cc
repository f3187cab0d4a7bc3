#include "engines/compact_slots/rules.h"

#include "engines/vllm/sources.h"

namespace hybridkv {

namespace {

constexpr std::string_view slot_assumptions[] = {
    "states take 0.9 / 1.9 of the memory, SGLang's default, unless engine.state_memory_ratio or engine.state_requests "
    "says otherwise",
    "page 0 of tokens and slot 0 are null",
    "prefixes are found block by block, and states kept at multiples of the block as vLLM's mode of that name keeps "
    "them",
};

}  // namespace

/// Compact slots beside attention pages: a proposal, of no engine. States of all recurrent layers of a request lie side
/// by side in a slot, in the allocation that has the pages of tokens too.
const EngineRules rules_of_compact_slots = {.name = "compact-slots",
                                            .title = "compact slots beside attention pages",
                                            .strategy = Strategy::compact_slots,
                                            .source_only = true,
                                            .assumptions = slot_assumptions,
                                            .source = source_of_blocks,
                                            .caches_by_default = true,
                                            .reserves_null_block = true};

}  // namespace hybridkv
