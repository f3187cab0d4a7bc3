#include "report/plan/prefix_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "planner/snapshot_prefix.h"
#include "report/human.h"

namespace hybridkv {

namespace {

/// Of slots.
std::string slot_prefix_sentence(const CachePlan& plan) {
  const std::int64_t misses = plan.prefix.duplicate_misses_up_to_tokens;
  if (!plan.prefix.cacheable)
    return "Without checkpoints a prompt goes on only where it continues all that its slot holds, else from the start.";
  if (plan.rows->window_tokens == 0)
    return fmt::format("A prompt goes on in a slot whose last sequence it continues, else from a checkpoint of that "
                       "slot on the host in what both share, else from the start: a second copy of a prompt of n "
                       "tokens hits n - {} tokens, a turn of a chat all before it.", human_count(misses));
  return fmt::format("A prompt goes on from a checkpoint of its slot on the host that lies more than the window of {} "
                     "tokens before the end of what both share, also where it continues all that the slot holds, else "
                     "from the start: a second copy of a prompt of n tokens hits {}.",
                     human_count(plan.rows->window_tokens),
                     misses == largest_tokens ? "nothing" : fmt::format("n - {} tokens", human_count(misses)));
}

/// What a copy of a prompt of n tokens hits: whole units that end so far before its end that a copy of `misses` tokens
/// is the longest that hits none.
std::string copied_formula(std::int64_t unit, std::int64_t misses) {
  const std::int64_t back = misses - unit + 1;  // least tokens behind a hit
  if (unit == 1) return fmt::format("max(0, n - {})", back);
  const std::int64_t dropped = back >= unit ? 1 : 0, rest = back - dropped * unit;
  const std::string units =
      rest == 0 ? fmt::format("floor(n / {})", unit) : fmt::format("floor((n - {}) / {})", rest, unit);
  if (back == 1) return fmt::format("{} * {}", units, unit);
  return fmt::format("max(0, {}{}) * {}", units, dropped == 1 ? " - 1" : "", unit);
}

/// Where prompts leave snapshots: "at multiples of 100 tokens, and at its end".
std::string places_text(const SnapshotPoints& points) {
  std::vector<std::string> places;
  if (points.interval_tokens > 0)
    places.push_back(fmt::format("at multiples of {}", human_plural(points.interval_tokens, "token")));
  if (!points.from_start.empty()) places.push_back(fmt::format("at token {}", human_list(points.from_start)));
  if (!points.from_end.empty())
    places.push_back(points.from_end == std::vector<std::int64_t>{0}
                         ? "at its end"
                         : fmt::format("{} tokens before its end", human_list(points.from_end)));
  if (points.at_branches)
    places.push_back(fmt::format("where it parts from what is there, or at its end{}",
                                 places.empty() ? "" : " if it has no other"));
  return fmt::format("{}", fmt::join(places, ", and "));
}

/// What a copy of a prompt of n tokens hits, where no snapshot of it gives way to another and all are found.
std::optional<std::string> formula_of_snapshots(const PoolGroups& groups, std::int64_t block, std::int64_t misses) {
  const SnapshotPoints& points = groups.points;
  const auto nearest = std::find_if(points.from_end.begin(), points.from_end.end(),
                                    [](std::int64_t offset) { return offset > 0; });
  const bool periodic_alone = points.from_start.empty() && nearest == points.from_end.end();
  const bool end_blocks = periodic_alone && points.interval_tokens % block == 0;
  if (snapshots_share_blocks(points, block) || !(groups.partial_reuse || end_blocks)) return std::nullopt;
  if (periodic_alone) return copied_formula(points.interval_tokens, misses);
  if (points.from_start.empty() && points.interval_tokens == 0) return copied_formula(1, misses);
  return std::nullopt;
}

/// The same in a sentence: by the formula, else by the longest sequence as an example.
std::string copied_sentence(const CachePlan& plan) {
  const PoolGroups& groups = *plan.pool_groups;
  const std::int64_t misses = plan.prefix.duplicate_misses_up_to_tokens, block = block_tokens_of(plan);
  if (misses == largest_tokens)
    return "A second copy of a prompt hits nothing: no snapshot of the first lies before the last token, which is "
           "always computed.";
  if (const auto hit = formula_of_snapshots(groups, block, misses))
    return fmt::format("A second copy of a prompt of n tokens hits {} tokens: nothing up to n = {}.", *hit,
                       human_count(misses));
  const std::int64_t tokens = plan.capacity.back().max_model_len;
  return fmt::format("A second copy of a prompt hits the last snapshot of it that is kept and matches before the last "
                     "token: {} of {}, nothing up to {}.", human_count(copied_snapshot_tokens(groups, block, tokens)),
                     human_plural(tokens, "token"), human_count(misses));
}

/// Of snapshots at exact tokens.
std::vector<std::string> snapshot_sentences(const CachePlan& plan) {
  const PoolGroups& groups = *plan.pool_groups;
  std::vector<std::string> sentences{
      fmt::format("A hit ends at a snapshot. A prompt leaves them {}.", places_text(groups.points))};
  if (groups.first_manager) {
    sentences.push_back("How the first manager finds them is not known here.");
    return sentences;
  }
  const std::string block = human_plural(block_tokens_of(plan), "token");
  if (groups.points.at_branches || snapshots_share_blocks(groups.points, block_tokens_of(plan)))
    sentences.push_back(fmt::format("A block of {} keeps the last snapshot in it.", block));
  if (!groups.partial_reuse)
    sentences.push_back(fmt::format("Only whole blocks of {} match, or all that the tree keeps of a prompt where the "
                                    "next one is a token longer (enable_partial_reuse: false).", block));
  sentences.push_back(copied_sentence(plan));
  if (groups.points.at_branches)
    sentences.push_back("What two prompts share before they part is kept by the second and found by the third.");
  return sentences;
}

}  // namespace

std::vector<std::string> prefix_sentences(const CachePlan& plan) {
  const PrefixPlan& prefix = plan.prefix;
  if (plan.rows && plan.cache_mode != CacheMode::none) return {slot_prefix_sentence(plan)};
  if (plan.has_cross_attention())
    return {"Prefixes are not cached beside an encoder, which reads something else each time: nothing is ever found "
            "again."};
  if (!prefix.cacheable) {
    std::vector<std::string> nothing{fmt::format(
        "Mode {} keeps no recurrent state for a prefix: nothing is ever found again.", to_string(plan.cache_mode))};
    if (!plan.rules->caches_states_alone && primary_attention(plan) == nullptr)
      nothing.push_back(fmt::format("{} caches no prefixes of a model without attention unless it is told to, as by "
                                    "--mode align here.", plan.rules->title));
    return nothing;
  }
  if (plan.pool_groups) return snapshot_sentences(plan);
  const std::int64_t unit = prefix.match_unit_tokens;
  std::vector<std::string> sentences{
      unit == 1 ? "A hit ends at any token." : fmt::format("A hit is a multiple of {}.", human_plural(unit, "token"))};
  if (prefix.min_cacheable_prefix_tokens)
    sentences.push_back(fmt::format("The shortest shared prefix that can hit is {}.",
                                    human_plural(*prefix.min_cacheable_prefix_tokens, "token")));
  if (plan.tree_pools && plan.tree_pools->strategy == TreeStrategy::no_buffer) {
    const std::int64_t chunk = prefix.duplicate_misses_up_to_tokens;
    sentences.push_back(fmt::format("States lie where chunks of {} tokens and requests end: a second copy of a prompt "
                                    "of n tokens hits floor((n - 1) / {}) * {} tokens, a turn of a chat all before it.",
                                    human_count(chunk), chunk, chunk));
    return sentences;
  }
  const bool aligned = prefix.duplicate_misses_multiples_of_tokens.has_value();
  const std::string hit = copied_formula(unit, prefix.duplicate_misses_up_to_tokens);
  std::string sentence =
      fmt::format("A second copy of a prompt of n tokens hits {} tokens: nothing up to n = {}", hit,
                  human_count(prefix.duplicate_misses_up_to_tokens));
  if (aligned)
    sentence += fmt::format(", and nothing where n is a multiple of {}, as the only state then lies past what may be "
                            "matched",
                            human_count(*prefix.duplicate_misses_multiples_of_tokens));
  sentences.push_back(sentence + ".");
  if (prefix.hash_block_tokens > 0 && prefix.hash_block_tokens != prefix.scheduler_block_tokens)
    sentences.push_back(fmt::format("Chain hashes cover {} each, the blocks of all groups meet every {}.",
                                    human_plural(prefix.hash_block_tokens, "token"),
                                    human_count(prefix.scheduler_block_tokens)));
  if (largest_state(plan) != nullptr && plan.rules->retention_tokens == 0)
    sentences.push_back("Of a prompt the last state alone is kept (retention 0): what two prompts share before they "
                        "part is found by the third.");
  return sentences;
}

}  // namespace hybridkv
