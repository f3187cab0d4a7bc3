#include "tests/toys/first_come/engine.h"

#include "tests/toys/first_come/block_rules.h"

namespace hybridkv::testing {

namespace {

constexpr std::string_view assumptions_of_toy[] = {
    "it is made up: prefixes are found block by block, states are kept at multiples of the block, page 0 of tokens and "
    "slot 0 are null",
};

constexpr EngineRules rules_of_toy{.name = "toy-pools",
                                   .title = "Toy pools",
                                   .strategy = Strategy::dual_pool,
                                   .source_only = true,
                                   .assumptions = assumptions_of_toy,
                                   .caches_by_default = true,
                                   .reserves_null_block = true};

/// It has an order of its own, which no policy and no memory of the host was tried with.
constexpr ReplayAbilities abilities_of_toy{.index = "a cache of first come, first gone", .chosen_places = true};

}  // namespace

constinit const Engine first_come_engine{.rules = &rules_of_toy,
                                         .blocks = &first_come_rules,
                                         .replay = block_cache_of,
                                         .replayed = Evidence::source_only,
                                         .abilities = &abilities_of_toy,
                                         .axes = axes_of_read_blocks};

}  // namespace hybridkv::testing
