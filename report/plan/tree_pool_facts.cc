#include "report/plan/tree_pool_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/plan_facts.h"
#include "report/human.h"

namespace hybridkv {

namespace {

std::string gigabytes(std::int64_t bytes) { return human_real(printed_gigabytes(bytes)) + " GB"; }

std::string printed_text(const CachePlan& plan) {
  const TokenStateSplit& split = plan.tree_pools->split;
  std::int64_t context = 0;
  for (const CapacityPlan& capacity : plan.capacity) context = std::max(context, capacity.max_model_len);
  std::string text = fmt::format("max_mamba_cache_size {}", human_count(split.state_slots));
  for (const char* name : {"conv", "ssm"})
    if (const std::int64_t bytes = state_slot_tensor_bytes(plan, name); bytes > 0)
      text += fmt::format(", {} {}", name, gigabytes(bytes));
  if (split.draft_state_bytes > 0) text += fmt::format(", intermediate {}", gigabytes(split.draft_state_bytes));
  return text + fmt::format("; max_total_num_tokens {}, chunked_prefill_size {}, max_running_requests {}, "
                            "context_len {}", human_count(split.token_slots), human_count(plan.max_num_batched_tokens),
                            human_count(split.max_running), human_count(context));
}

std::string advice_text(const LengthAdvice& advice) {
  const std::string now = fmt::format("{} of the memory idle at {}", human_percent(advice.idle_percent),
                                      human_plural(advice.running_now, "request"));
  if (advice.running_best <= advice.running_now)
    return fmt::format("no other ratio lets more of them run; {}", now);
  const double lost = 100.0 * static_cast<double>(advice.running_best - advice.running_now) /
                      static_cast<double>(advice.running_best);
  return fmt::format("engine.state_memory_ratio {} lets {} run, {} slots and {} tokens; as it is {} fewer run; {}",
                     human_real(advice.best_ratio, 4), human_count(advice.running_best),
                     human_count(advice.best_state_slots), human_count(advice.best_token_slots), human_percent(lost),
                     now);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> tree_pool_facts(const CachePlan& plan, const CapacityPlan& capacity) {
  const TreePools& tree_pools = *plan.tree_pools;
  const TokenStateSplit& split = tree_pools.split;
  const std::int64_t pages = split.token_slots / tree_pools.page_tokens;
  std::vector<std::pair<std::string, std::string>> facts{{"engine prints", printed_text(plan)}};
  facts.emplace_back(
      "capacity",
      fmt::format("{} such requests at once: state slots allow {} at {} a request, token slots {}; {} run at most",
                  human_count(split.requests_at(capacity.max_model_len, tree_pools.page_tokens)),
                  human_count(split.state_slots / split.state_slots_per_request),
                  human_count(split.state_slots_per_request),
                  human_count(pages / std::max<std::int64_t>(1, ceil_div(capacity.max_model_len,
                                                                         tree_pools.page_tokens))),
                  human_count(split.max_running)));
  if (split.ring_bytes > 0)
    facts.emplace_back("ReplaySSM",
                       fmt::format("inputs of draft steps take {}{}", exact_bytes(split.ring_bytes),
                                   has_source_only_rings(plan) ? "; of kda layers a rule that is read, not run" : ""));
  for (const LengthAdvice& advice : tree_pools.advice)
    if (advice.tokens == capacity.max_model_len) facts.emplace_back("split", advice_text(advice));
  if (tree_pools.host.exists())
    facts.emplace_back("host", fmt::format("{} tokens and {} states, {} of a rank (read, not run): {}",
                                           human_count(tree_pools.host.tokens), human_count(tree_pools.host.states),
                                           exact_bytes(tree_pools.host_bytes()), to_string(tree_pools.host.copies)));
  if (tree_pools.unified)
    facts.emplace_back("elastic", fmt::format("one buffer of {} (read, not run): up to {} tokens or {} states, a state "
                                              "costs {} tokens; what is planned below is where it starts",
                                              exact_bytes(tree_pools.unified->total_bytes),
                                              human_count(tree_pools.unified->largest_tokens),
                                              human_count(tree_pools.unified->largest_states),
                                              human_count(tree_pools.unified->state_in_tokens)));
  return facts;
}

std::string tree_pool_text(const CachePlan& plan) {
  const TreePools& tree_pools = *plan.tree_pools;
  if (plan.cache_mode == CacheMode::none) return "none: no radix tree";
  if (tree_pools.strategy == TreeStrategy::no_buffer)
    return "radix tree, no_buffer: states where chunks and requests end";
  return fmt::format("radix tree, {}: states of prompts at multiples of {}, while decoding of {}",
                     to_string(tree_pools.strategy), human_plural(tree_pools.checkpoint_tokens, "token"),
                     human_count(tree_pools.decode_tokens));
}

}  // namespace hybridkv
