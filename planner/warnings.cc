#include "planner/warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "mamba/recurrent_spec.h"
#include "planner/demand.h"
#include "planner/group_warnings.h"
#include "planner/plan_facts.h"
#include "planner/sequence_warnings.h"
#include "planner/start_count.h"

namespace hybridkv {

namespace {

/// What no run of the engine confirms.
void warn_assumptions(std::vector<Warning>& warnings, const CachePlan& plan) {
  const EngineRules& rules = *plan.rules;
  if (rules.source_only)
    warnings.push_back({"rules_read", fmt::format("the rules of {} were read, not run: no number here was compared "
                                                  "with the engine's own", rules.title)});
  for (const std::string_view assumption : rules.assumptions)
    warnings.push_back({"assumption", fmt::format("assumed of {}: {}", rules.title, assumption)});
}

/// Warns of what the engine plans and then refuses when it starts.
void warn_refused_later(std::vector<Warning>& warnings, const CachePlan& plan) {
  const std::string_view engine = plan.rules->title;
  if (!plan.view_error.empty())
    warnings.push_back({"views_refused",
                        fmt::format("{} plans this and then refuses to make its views: {}", engine, plan.view_error)});
  if (!plan.prefix.match_error.empty())
    warnings.push_back({"match_unit_refused", fmt::format("{} plans this and then refuses its match unit: {}", engine,
                                                          plan.prefix.match_error)});
}

void warn_block_exceeds_prompts(std::vector<Warning>& warnings, const CachePlan& plan, const LimitsSpec& limits) {
  if (!plan.prefix.cacheable) return;
  const std::int64_t longest_len = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
  const std::int64_t longest = limits.longest_prompt_tokens.value_or(longest_len);
  if (longest > plan.prefix.duplicate_misses_up_to_tokens) return;
  warnings.push_back(
      {"block_exceeds_prompts",
       fmt::format("prefix caching can never hit: the {} is {}, and a prompt must be longer than {} to "
                   "match a whole block; {}",
                   limits.longest_prompt_tokens ? "longest prompt" : "longest sequence", human_plural(longest, "token"),
                   human_plural(plan.prefix.duplicate_misses_up_to_tokens, "token"),
                   plan.prefix.hash_block_tokens > 0
                       ? "an engine.prefix_match_unit_tokens that divides the block makes hits shorter"
                       : "a larger attention_pack_size makes the block smaller")});
}

/// In mode align a prompt that ends on a block boundary leaves its only state past what a copy of it may match.
void warn_knife_edge(std::vector<Warning>& warnings, const CachePlan& plan, const LimitsSpec& limits) {
  const auto& multiples = plan.prefix.duplicate_misses_multiples_of_tokens;
  if (!multiples || !limits.longest_prompt_tokens) return;
  const std::int64_t longest = *limits.longest_prompt_tokens;
  if (longest <= plan.prefix.duplicate_misses_up_to_tokens || longest % *multiples != 0) return;
  const std::int64_t dropped = plan.prefix.duplicate_misses_up_to_tokens / *multiples - 1;  // by a drafter
  warnings.push_back({"knife_edge_length",
                      fmt::format("a prompt of {} tokens, the longest, is {} of {} exactly: sent a second time "
                                  "it hits nothing in mode align; one token longer it hits {}",
                                  human_count(longest), human_plural(longest / *multiples, "block"),
                                  human_count(*multiples),
                                  human_plural(longest / *multiples - dropped, "block"))});
}

/// Of engines that never advance inside a block.
void warn_budget_below_block(std::vector<Warning>& warnings, const CachePlan& plan) {
  if (plan.cache_mode != CacheMode::align || !plan.rules->waits_for_blocks) return;
  for (const SpecPlan& spec : plan.specs) {
    if (!spec.state || plan.max_num_batched_tokens >= spec.block_size_tokens) continue;
    warnings.push_back({"budget_below_block",
                        fmt::format("a step of {} tokens never reaches the end of a block of {}, where mode align has "
                                    "to cut it: a longer prompt waits for ever; raise max_num_batched_tokens to the "
                                    "block, or make the block smaller with a larger attention_pack_size",
                                    human_count(plan.max_num_batched_tokens), human_count(spec.block_size_tokens))});
    return;
  }
}

/// "24 blocks, the pools have 20", arena by arena where there are several.
std::string needs_text(const CachePlan& plan, const CapacityPlan& capacity) {
  if (counts_blocks(plan))
    return fmt::format("{}, the pools have {}", human_plural(capacity.blocks_per_request, "block"),
                       human_count(plan.num_blocks()));
  return fmt::format("{}, the pools have {}", ids_text(plan, request_demand(plan, capacity.max_model_len)),
                     ids_text(plan, all_ids(plan)));
}

void warn_capacity(std::vector<Warning>& warnings, const CachePlan& plan) {
  for (const CapacityPlan& capacity : plan.capacity) {
    if (!capacity.fits) {
      warnings.push_back({"length_does_not_fit",
                          fmt::format("one request of {} needs {}; the longest that fits is {}",
                                      human_plural(capacity.max_model_len, "token"), needs_text(plan, capacity),
                                      human_plural(plan.max_fitting_tokens, "token"))});
    } else if (!counts_blocks(plan)) {
      if (!fits(plan, request_demand(plan, capacity.max_model_len)))
        warnings.push_back(
            {"pool_at_bound",
             fmt::format("the pools hold exactly what one request of {} needs, but id 0 of every arena "
                         "is nobody's: such a request stops at {} and never finishes; give more memory",
                         human_plural(capacity.max_model_len, "token"),
                         human_plural(plan.max_fitting_tokens, "token"))});
    } else if (plan.usable_blocks() < capacity.blocks_per_request) {
      warnings.push_back({"pool_at_bound",
                          fmt::format("the pools hold exactly the {} that one request of {} needs, but "
                                      "block 0 is the null block: such a request stops at {} and never "
                                      "finishes; give memory for one block more",
                                      human_plural(capacity.blocks_per_request, "block"),
                                      human_plural(capacity.max_model_len, "token"),
                                      human_plural(plan.max_fitting_tokens, "token"))});
    }
  }
}

/// What is planned all the same: another engine may run it.
void warn_refused_mode(std::vector<Warning>& warnings, const CachePlan& plan) {
  if (plan.cache_mode != CacheMode::all) return;
  const std::string_view refused = family_name(GdnSpec{});
  if (std::none_of(plan.specs.begin(), plan.specs.end(), [&](const SpecPlan& spec) { return spec.kind == refused; }))
    return;
  warnings.push_back({"mode_refused",
                      fmt::format("engines refuse to start models with {} layers in mode all; take mode align or none",
                                  refused)});
}

/// The check of the start, and what is printed, count with a longer encoder than any request has.
void warn_encoder_batch(std::vector<Warning>& warnings, const CachePlan& plan) {
  const CapacityPlan& longest = plan.capacity.back();
  const std::optional<StartCount> count = start_count(plan, longest);
  if (!count) return;
  warnings.push_back(
      {"encoder_reserve",
       fmt::format("at its start, and in the concurrency that it prints, the engine counts max_num_batched_tokens = {} "
                   "for the encoder of a request, not {}: {} instead of {} for {}, of which {}",
                   human_count(plan.max_num_batched_tokens), human_plural(count->encoder_tokens, "token"),
                   human_count(count->ids), human_plural(longest.blocks_per_request, "block"),
                   human_plural(longest.max_model_len, "token"),
                   count->ids > plan.usable_blocks()
                       ? fmt::format("the pool has {}, so that it does not start; give more memory or a smaller "
                                     "engine.max_num_batched_tokens", human_count(plan.usable_blocks()))
                       : fmt::format("it holds {:.2f}", count->concurrency))});
}

void warn_short_packs(std::vector<Warning>& warnings, const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs) {
    const auto layers = static_cast<std::int64_t>(spec.layers.size());
    const std::int64_t missing = spec.num_pages * spec.layers_per_page - layers;
    if (missing == 0) continue;
    warnings.push_back({"short_pack",
                        fmt::format("the last pack of the {} holds {} of {}: every block wastes {} bytes "
                                    "for the missing {}",
                                    human_plural(layers, spec.kind + " layer"),
                                    human_count(spec.layers_per_page - missing), human_count(spec.layers_per_page),
                                    human_count(missing * spec.block_size_tokens * spec.bytes_per_token),
                                    human_count(missing))});
  }
}

}  // namespace

std::vector<Warning> plan_warnings(const CachePlan& plan, const LimitsSpec& limits) {
  std::vector<Warning> warnings;
  warn_assumptions(warnings, plan);
  warn_refused_later(warnings, plan);
  if (plan.rows) warn_of_sequences(warnings, plan);
  if (plan.pool_groups) warn_of_groups(warnings, plan);
  else if (!plan.rows || plan.rows->window_tokens == 0) warn_block_exceeds_prompts(warnings, plan, limits);
  warn_knife_edge(warnings, plan, limits);
  warn_budget_below_block(warnings, plan);
  warn_refused_mode(warnings, plan);
  warn_capacity(warnings, plan);
  warn_short_packs(warnings, plan);
  warn_encoder_batch(warnings, plan);
  return warnings;
}

}  // namespace hybridkv
