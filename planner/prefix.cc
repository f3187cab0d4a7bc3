#include "planner/prefix.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/match_units.h"
#include "planner/snapshot_prefix.h"
#include "planner/tensor_pool_rules.h"

namespace hybridkv {

bool drafter_drops_block(const EngineSpec& engine) {
  return engine.speculative_tokens > 0 && (engine.mtp_layers > 0 || engine.draft.has_value());
}

std::int64_t tokens_looked_ahead(const EngineSpec& engine) {
  if (!engine.rules->drafts_look_ahead || !drafter_drops_block(engine)) return 0;
  return engine.mtp_layers > 1 ? engine.speculative_tokens : 1;
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

namespace {

/// Why no prefix is ever found again.
const char* nothing_found(const Arrangement& arrangement) {
  return arrangement.has_cross_attention()
             ? "0 stands for none: nothing is found for a model with an encoder, which reads something else each time"
             : "0 stands for none: nothing is ever found in mode none with states";
}

/// Prefixes where the last state of a prompt lies before its last token, and hashes may be finer than blocks.
PrefixPlan with_match_units(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log) {
  const MatchUnits units = match_units(arrangement, engine);
  PrefixPlan prefix;
  prefix.scheduler_block_tokens = units.scheduler_block;
  prefix.hash_block_tokens = units.hash_block;
  prefix.match_error = units.error;
  prefix.match_unit_tokens = units.hit();
  const bool has_states = std::any_of(arrangement.specs.begin(), arrangement.specs.end(),
                                      [](const SpecPlan& spec) { return spec.state.has_value(); });
  prefix.cacheable =
      !arrangement.has_cross_attention() && !(has_states && arrangement.cache_mode == CacheMode::none);
  log.add([&] {
    return Decision{{"S", units.scheduler_block, "tokens"}, "S = lcm of the groups' blocks", {},
                    log.cite(RuleOf::prefixes)};
  });
  log.add([&] {
    return Decision{{"h", units.hash_block, "tokens"},
                    engine.prefix_match_unit_tokens && units.error.empty()
                        ? "as set by the user: a divisor of every block"
                        : "what the blocks of the groups have in common; S where there is one group, or no caching",
                    {}, log.cite(RuleOf::prefixes)};
  });
  log.add([&] {
    return Decision{{"match unit", prefix.match_unit_tokens, "tokens"},
                    units.fine ? "h: a state's block is longer, and all other groups can be cut there" : "S",
                    {{"S", units.scheduler_block, "tokens"}, {"h", units.hash_block, "tokens"}},
                    log.cite(RuleOf::prefixes)};
  });
  if (!prefix.cacheable) {
    log.add([&] {
      return Decision{{"second copies hit nothing up to", std::int64_t{0}, "tokens"},
                      nothing_found(arrangement), {}, log.cite(RuleOf::prefixes)};
    });
    return prefix;
  }
  const bool drops = !engine.rules->drafts_look_ahead && drafter_drops_block(engine);
  const std::int64_t ahead = tokens_looked_ahead(engine);
  // A look-up for a drafter searches the whole prompt, as it gives its last unit back; not so that of a single table.
  const bool searches_whole = drops && units.tables > 1;
  const std::int64_t unit = prefix.match_unit_tokens;
  prefix.min_cacheable_prefix_tokens = Checked(unit) * (drops ? 2 : 1) + ahead;
  prefix.duplicate_misses_up_to_tokens =
      drops ? Checked(unit) * 2 - (searches_whole ? 1 : 0) : Checked(unit) + std::max<std::int64_t>(1, ahead) - 1;
  const Term of_unit{"match unit", unit, "tokens"}, of_drafter{"tokens looked ahead", ahead, "tokens"};
  log.add([&] {
    return Decision{{"smallest prefix that can hit", *prefix.min_cacheable_prefix_tokens, "tokens"},
                    drops       ? "2 * match unit: a drafter drops the last one"
                    : ahead > 0 ? "match unit + tokens looked ahead, which the key of a unit covers too"
                                : "match unit: one of them",
                    ahead > 0 ? std::vector<Term>{of_unit, of_drafter} : std::vector<Term>{of_unit},
                    log.cite(RuleOf::prefixes)};
  });
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    searches_whole ? "2 * match unit - 1: a drafter drops the last one, of a whole prompt"
                    : drops        ? "2 * match unit: a drafter drops the last one that lies before the last token"
                    : ahead > 1    ? "match unit + tokens looked ahead - 1: the last state lies so far before the end"
                                   : "match unit: the last state that is kept lies before the last token of a prompt",
                    ahead > 1 ? std::vector<Term>{of_unit, of_drafter} : std::vector<Term>{of_unit},
                    log.cite(RuleOf::prefixes)};
  });
  return prefix;
}

/// Prefixes of a radix tree: a request goes on from the deepest node with K, V and a state. With tracking slots those
/// of prompts lie on a grid, so that a prompt which ends on it leaves its only state past what a copy may match;
/// without them they lie where a chunk ends, so that a copy hits nothing but where an earlier chunk ended.
PrefixPlan with_tree(const Arrangement& arrangement, const DerivationLog& log) {
  const TreePools& tree_pools = *arrangement.tree_pools;
  const bool on_grid = tree_pools.strategy != TreeStrategy::no_buffer;
  PrefixPlan prefix;
  prefix.cacheable = arrangement.cache_mode != CacheMode::none;
  prefix.match_unit_tokens = prefix.cacheable ? tree_pools.checkpoint_tokens : tree_pools.page_tokens;
  log.add([&] {
    return Decision{{"match unit", prefix.match_unit_tokens, "tokens"},
                    !prefix.cacheable ? "the page: nothing is kept for prefixes"
                    : on_grid         ? "match unit = G"
                                      : "1: states lie where chunks and requests end",
                    {}, log.cite(RuleOf::prefixes)};
  });
  if (prefix.cacheable) {
    prefix.min_cacheable_prefix_tokens = prefix.match_unit_tokens;
    prefix.duplicate_misses_up_to_tokens = on_grid ? prefix.match_unit_tokens : arrangement.max_num_batched_tokens;
    if (on_grid) prefix.duplicate_misses_multiples_of_tokens = prefix.match_unit_tokens;
    log.add([&] {
      return Decision{{"smallest prefix that can hit", prefix.match_unit_tokens, "tokens"}, "match unit: one of them",
                      {{"match unit", prefix.match_unit_tokens, "tokens"}}, log.cite(RuleOf::prefixes)};
    });
  }
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    !prefix.cacheable ? "0 stands for none: nothing is ever found without a tree"
                    : on_grid         ? "match unit: the last token of a prompt is never matched"
                                      : "a chunk: the only state lies at the end of a prompt, past what may be matched",
                    {}, log.cite(RuleOf::prefixes)};
  });
  if (prefix.duplicate_misses_multiples_of_tokens)
    log.add([&] {
      return Decision{{"second copies hit nothing at multiples of", prefix.match_unit_tokens, "tokens"},
                      "match unit: the only state then lies past what may be matched; a third copy hits one unit less",
                      {{"match unit", prefix.match_unit_tokens, "tokens"}}, log.cite(RuleOf::prefixes)};
    });
  return prefix;
}

/// Prefixes of a slot whose last sequence begins as the new prompt does: it goes on from a checkpoint on the host,
/// which may lie at any token; the last one lies a few tokens before the end of a prompt.
PrefixPlan with_host_checkpoints(const Arrangement& arrangement, const DerivationLog& log) {
  PrefixPlan prefix;
  const SequenceRows& rows = *arrangement.rows;
  prefix.cacheable = rows.checkpoints > 0;
  prefix.match_unit_tokens = 1;
  log.add([&] {
    return Decision{{"match unit", prefix.match_unit_tokens, "tokens"},
                    "1: a checkpoint is restored exactly where it was made", {}, log.cite(RuleOf::prefixes)};
  });
  if (prefix.cacheable) {
    prefix.min_cacheable_prefix_tokens = 1;
    // A copy computes its last token again, so that a window must lie one token further back.
    const std::int64_t window = rows.window_tokens;
    prefix.duplicate_misses_up_to_tokens =
        rows.checkpoint_before_end(window > 0 ? window + 1 : 0).value_or(largest_tokens);
    log.add([&] {
      return Decision{{"smallest prefix that can hit", *prefix.min_cacheable_prefix_tokens, "tokens"},
                      "match unit: one of them", {{"match unit", prefix.match_unit_tokens, "tokens"}},
                      log.cite(RuleOf::prefixes)};
    });
  }
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    !prefix.cacheable          ? "0 stands for none: without checkpoints no prefix is restored"
                    : rows.window_tokens == 0 ? "the tail: the last checkpoint lies so many tokens before the end of a "
                                                "prompt"
                    : prefix.duplicate_misses_up_to_tokens == largest_tokens
                        ? "all: no checkpoint lies more than the window before the end of a prompt"
                        : "the last checkpoint more than the window before the end of a prompt",
                    {}, log.cite(RuleOf::prefixes)};
  });
  return prefix;
}

/// Tokens of the block that a drafter drops: what the blocks of attention have in common, or of states alone.
std::int64_t block_dropped_of(const Arrangement& arrangement, std::int64_t unit) {
  std::int64_t block = 0;
  for (const SpecPlan& spec : arrangement.specs)
    if (spec.attention && arrangement.grain_tokens(spec) > 0)
      block = checked_lcm(std::max<std::int64_t>(1, block), arrangement.grain_tokens(spec));
  return block > 0 ? block : unit;
}

}  // namespace

PrefixPlan prefix_granularity(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log) {
  if (arrangement.tree_pools) return with_tree(arrangement, log);
  if (arrangement.pool_groups) return prefix_of_snapshots(arrangement, log);
  if (arrangement.rows) return with_host_checkpoints(arrangement, log);
  if (arrangement.rules->one_allocation) return with_match_units(arrangement, engine, log);
  PrefixPlan prefix;
  std::int64_t unit = 1;
  bool has_recurrent = false;
  std::vector<const SpecPlan*> matched;  // the block of a state that spans its whole request matches nothing
  for (const SpecPlan& spec : arrangement.specs) {
    has_recurrent = has_recurrent || spec.state.has_value();
    if (arrangement.grain_tokens(spec) > 0) matched.push_back(&spec);
  }
  for (const SpecPlan* spec : matched) unit = checked_lcm(unit, arrangement.grain_tokens(*spec));
  if (matched.empty()) unit = 0;
  prefix.match_unit_tokens = unit;
  log.add([&] {
    if (matched.empty())
      return Decision{{"match unit", unit, "tokens"},
                      "none: in mode none no state is kept for a prefix, and there is no attention",
                      {},
                      log.cite(RuleOf::prefixes)};
    std::string rule;
    std::vector<Term> blocks;
    for (const SpecPlan* spec : matched) {
      blocks.push_back({"block of " + spec_label(*spec), spec->block_size_tokens, "tokens"});
      rule += (rule.empty() ? "" : ", ") + blocks.back().symbol;
    }
    rule = "match unit = lcm(" + rule + ")";
    if (arrangement.has_cross_attention())
      rule += ": K and V of an encoder are kept for no prefix";
    else if (matched.size() < arrangement.specs.size())
      rule += ": states are kept for no prefix in mode none";
    return Decision{{"match unit", unit, "tokens"}, std::move(rule), std::move(blocks),
                    log.cite(RuleOf::prefixes)};
  });
  prefix.cacheable =
      !arrangement.has_cross_attention() && !(has_recurrent && arrangement.cache_mode == CacheMode::none);
  if (!prefix.cacheable) {
    log.add([&] {
      return Decision{{"second copies hit nothing up to", std::int64_t{0}, "tokens"},
                      nothing_found(arrangement),
                      {},
                      log.cite(RuleOf::prefixes)};
    });
    return prefix;
  }
  const bool drops = drafter_drops_block(engine);
  const std::int64_t dropped = drops ? block_dropped_of(arrangement, unit) : 0;
  const std::int64_t smallest = Checked(unit) + dropped;
  prefix.min_cacheable_prefix_tokens = smallest;
  // A prompt must be longer than what it hits: its last token is never matched.
  const bool align =
      has_recurrent && arrangement.cache_mode == CacheMode::align && !arrangement.keeps_every_boundary();
  prefix.duplicate_misses_up_to_tokens = smallest;
  if (align) prefix.duplicate_misses_multiples_of_tokens = unit;
  log.add([&] {
    return Decision{{"smallest prefix that can hit", smallest, "tokens"},
                    drops ? "match unit + what a drafter drops: the last matched block of attention"
                          : "match unit: one of them",
                    drops ? std::vector<Term>{{"match unit", unit, "tokens"}, {"dropped", dropped, "tokens"}}
                          : std::vector<Term>{{"match unit", unit, "tokens"}},
                    log.cite(RuleOf::prefixes)};
  });
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    "smallest prefix: the last token of a prompt is never matched, so that it must be longer",
                    {{"smallest prefix", smallest, "tokens"}},
                    log.cite(RuleOf::prefixes)};
  });
  if (align)
    log.add([&] {
      return Decision{{"second copies hit nothing at multiples of", unit, "tokens"},
                      "match unit: the only state then lies past what may be matched, mode align",
                      {{"match unit", unit, "tokens"}},
                      log.cite(RuleOf::prefixes)};
    });
  return prefix;
}

}  // namespace hybridkv
