#include "planner/release.h"

namespace hybridkv {

/// SGLang 0.5.23, by running its own classes: a pool of tokens and one of state slots, split by a ratio
/// (planner/token_state_split.h), under one radix tree, which keeps prefixes by default; id 0 of both is a dummy.
const ReleaseRules rules_of_sglang_0_5_23 = {.title = "SGLang 0.5.23",
                                             .strategy = Strategy::dual_pool,
                                             .has_mode_all = false,
                                             .caches_by_default = true,
                                             .radix_pools = true,
                                             .reserves_null_block = true};

}  // namespace hybridkv
