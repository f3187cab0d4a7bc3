#include "engines/jenga/rules.h"

#include "engines/vllm/sources.h"

namespace hybridkv {

namespace {

constexpr std::string_view jenga_assumptions[] = {
    "the small pages of a large page go to one request for as long as it runs, and it takes no other large page before "
    "it has used them up, so that a request needs ceil(small pages / k) large ones of each kind; a replay gives it "
    "free ones of others too, once no large page is left",
    "a large page with empty small pages and cached ones is not evicted as one, even when nobody uses it, unless a "
    "request that runs alone could not go on",
    "large page 0 is the null page of all kinds",
    "a block has 16 tokens unless engine.block_size_tokens says otherwise",
    "a state is kept at every 512 tokens wherever chunks end, engine.mamba_block_size_tokens sets another number; the "
    "state that runs becomes the one that is kept, and a running request holds the last of those",
};

}  // namespace

/// Jenga (SOSP 2025), from its paper: large pages of the least common multiple of the small pages of all kinds of
/// layers, each owned by one kind at a time, and a free list a kind.
const EngineRules rules_of_jenga = {.name = "jenga",
                                    .title = "Jenga (two-level pages)",
                                    .strategy = Strategy::two_level,
                                    .source_only = true,
                                    .assumptions = jenga_assumptions,
                                    .source = source_of_blocks,
                                    .has_mode_all = false,
                                    .caches_by_default = true,
                                    .reserves_null_block = true,
                                    .without_encoders = "gives K and V of an encoder small pages of their own by its "
                                                        "paper, which is not planned",
                                    .checkpoint_tokens = 512};

}  // namespace hybridkv
