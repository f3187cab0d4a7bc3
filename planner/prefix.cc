#include "planner/prefix.h"

#include <algorithm>

#include "layout/checked.h"

namespace hybridkv {

bool drafter_drops_block(const EngineSpec& engine) {
  return engine.speculative_tokens > 0 && (engine.mtp_layers > 0 || engine.draft.has_value());
}

std::int64_t duplicate_hit_tokens(CacheMode mode, bool has_recurrent, std::int64_t block_tokens, bool drops_block,
                                  std::int64_t prompt_tokens) {
  if (has_recurrent && mode == CacheMode::none) return 0;
  std::int64_t blocks = (prompt_tokens - 1) / block_tokens;
  if (has_recurrent && mode == CacheMode::align) {
    // The only checkpoint lies at the last boundary; a prompt that ends there may not match its own last token.
    if (prompt_tokens % block_tokens == 0) return 0;
    blocks = prompt_tokens / block_tokens;
  }
  return std::max<std::int64_t>(0, blocks - (drops_block ? 1 : 0)) * block_tokens;
}

PrefixPlan prefix_granularity(const CachePlan& plan, const EngineSpec& engine, const DerivationLog& log) {
  PrefixPlan prefix;
  std::int64_t unit = 1;
  bool has_recurrent = false;
  for (const SpecPlan& spec : plan.specs) {
    unit = checked_lcm(unit, spec.block_size_tokens);
    has_recurrent = has_recurrent || spec.state.has_value();
  }
  prefix.match_unit_tokens = unit;
  log.add([&] {
    std::vector<Term> blocks;
    for (const SpecPlan& spec : plan.specs)
      blocks.push_back({"block of spec " + std::to_string(spec.id) + " (" + spec.kind + ")", spec.block_size_tokens,
                        "tokens"});
    return Decision{{"match unit", unit, "tokens"},
                    "match unit = lcm of the groups' block sizes",
                    std::move(blocks),
                    "vLLM HybridKVCacheCoordinator"};
  });
  prefix.cacheable = !(has_recurrent && plan.cache_mode == CacheMode::none);
  if (!prefix.cacheable) return prefix;
  const bool drops = drafter_drops_block(engine);
  const std::int64_t smallest = Checked(unit) * (drops ? 2 : 1);
  prefix.min_cacheable_prefix_tokens = smallest;
  // A prompt must be longer than what it hits: its last token is never matched.
  const bool align = has_recurrent && plan.cache_mode == CacheMode::align;
  prefix.duplicate_misses_up_to_tokens = smallest;
  if (align) prefix.duplicate_misses_multiples_of_tokens = unit;
  log.add([&] {
    return Decision{{"smallest prefix that can hit", smallest, "tokens"},
                    drops ? "two match units: a drafter drops the last matched block" : "one match unit",
                    {{"match unit", unit, "tokens"}},
                    "vLLM HybridKVCacheCoordinator"};
  });
  return prefix;
}

}  // namespace hybridkv
