#include "planner/release.h"

namespace hybridkv {

namespace {

/// Published hybrids that the engine has no model class for.
constexpr UnservedModels unserved_by_sglang[] = {{"MiniMax-Text", "MiniMaxText01ForCausalLM"},
                                                 {"Jamba", "JambaForCausalLM"},
                                                 {"plamo-2", "Plamo2ForCausalLM"},
                                                 {"Zamba2", "Zamba2ForCausalLM"}};

}  // namespace

/// SGLang 0.5.23, by running its own classes: a pool of tokens and one of state slots, split by a ratio
/// (planner/token_state_split.h), under one radix tree, which keeps prefixes by default; id 0 of both is a dummy.
const ReleaseRules rules_of_sglang_0_5_23 = {.title = "SGLang 0.5.23",
                                             .strategy = Strategy::dual_pool,
                                             .unserved = unserved_by_sglang,
                                             .has_mode_all = false,
                                             .caches_by_default = true,
                                             .radix_pools = true,
                                             .reserves_null_block = true};

}  // namespace hybridkv
