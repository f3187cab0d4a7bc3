#include "planner/rank_tokens.h"

#include "base/checked.h"

namespace hybridkv {

std::int64_t live_tokens_on_rank(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens) {
  const std::int64_t live = spec.live_tokens(tokens);
  return spec.attention->window_tokens > 0 ? live : ceil_div(live, arrangement.decode_context_parallel);
}

}  // namespace hybridkv
