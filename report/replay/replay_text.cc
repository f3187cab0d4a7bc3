#include "report/replay/replay_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/checked.h"
#include "report/human.h"

namespace hybridkv {

namespace {

/// The shortest prefix that is ever found again: a match unit, and one more where a drafter drops the last one.
std::int64_t shortest_hit(const CacheGeometry& geometry) {
  return Checked(geometry.match_unit()) * (geometry.drafter_drops_block ? 2 : 1);
}

std::string shortest_hit_text(const CacheGeometry& geometry) {
  const bool whole = geometry.match_unit() == geometry.block_size_tokens;
  if (!geometry.drafter_drops_block) return whole ? "a whole block" : "a match unit";
  return fmt::format("two {}, of which the drafter drops one", whole ? "whole blocks" : "match units");
}

}  // namespace

std::string modelled_sentence(std::span<const ModelledRule> rules) {
  std::set<std::string> names;
  for (const ModelledRule rule : rules) names.emplace(to_string(rule));
  return modelled_names_sentence(std::vector<std::string>(names.begin(), names.end()));
}

std::string modelled_names_sentence(std::span<const std::string> rules) {
  if (rules.empty()) return "All of this follows rules that were checked against a real engine, request by request.";
  return fmt::format("Modelled, not replayed from a real engine: {}.", fmt::join(rules, ", "));
}

std::string unserved_text(std::int64_t requests, const std::string& cache) {
  return fmt::format("{} not fit {}; they count in the rates, as prompts of which nothing is found.",
                     requests == 1 ? "1 request does" : human_count(requests) + " requests do", cache);
}

std::string overload_text(const QueueOverload& overload) {
  return fmt::format("requests come faster than they are served, up to {} wait where {} run at most",
                     human_count(overload.waiting), human_count(overload.running));
}

std::string in_flight_text(const DriverSpec& driver) {
  if (driver.think_seconds == 0) return human_plural(driver.in_flight, "request") + " in flight";
  return fmt::format("{} who think for {} s between their requests", human_plural(driver.in_flight, "user"),
                     driver.think_seconds);
}

std::string driver_sentence(const DriverSpec& driver) {
  if (driver.kind == DriverKind::closed_loop)
    return in_flight_text(driver) + ", prefill and decode";
  if (driver.kind == DriverKind::open_loop) return "by the timestamps of the trace, prefill and decode";
  return "one request at a time, prefill only";
}

std::string replay_caption(const std::string& trace, const DriverSpec& driver) {
  const bool plain = driver.kind == DriverKind::one_at_a_time;
  return fmt::format("{}, {}", trace, plain ? "one at a time" : driver_sentence(driver));
}

std::string policy_text(const SchedulerSettings& settings) {
  std::string text;
  if (!settings.evicts_as_engines()) text = fmt::format("evicts by {}", settings.eviction_name());
  if (settings.checkpoint_back > 0)
    text += fmt::format("{}last states {} before the last boundary", text.empty() ? "" : ", ",
                        human_plural(settings.checkpoint_back, "checkpoint"));
  return text;
}

std::string too_long_text(std::int64_t too_long, std::int64_t requests, std::int64_t max_model_len) {
  return fmt::format("{} of {} {} max_model_len ({}) or more and {} refused, as the engine refuses {}",
                     human_count(too_long), human_plural(requests, "request"),
                     too_long == 1 ? "has a prompt of" : "have prompts of", human_plural(max_model_len, "token"),
                     too_long == 1 ? "is" : "are", too_long == 1 ? "it" : "them");
}

std::string why_no_hits(const std::string& subject, const CacheGeometry& geometry, const HitFacts& facts) {
  if (!geometry.caches_prefixes())
    return geometry.has_encoder
               ? std::string(geometry.why_no_prefixes())
               : fmt::format("{}; {}", geometry.why_no_prefixes(),
                             geometry.rules.engine->has_mode_all ? "modes align and all keep them"
                                                                 : "mode align keeps them");
  const std::int64_t shortest = shortest_hit(geometry);
  const std::string block = fmt::format("{} of {}", subject, human_plural(geometry.block_size_tokens, "token"));
  if (facts.longest_prompt_tokens <= shortest)
    return fmt::format(
        "{} can never hit on this trace: its longest prompt has {}, and one must be longer than {} "
        "to match {}",
        block, human_plural(facts.longest_prompt_tokens, "token"), human_count(shortest), shortest_hit_text(geometry));
  if (facts.longest_repeat_tokens == 0)
    return fmt::format("{} hits nothing, nor would any other: no prompt begins like an earlier one", block);
  if (facts.longest_repeat_tokens && *facts.longest_repeat_tokens < shortest)
    return fmt::format("{} can never hit on this trace: prompts have at most their first {} tokens in common with an "
                       "earlier one, and {} takes {}", block, human_count(*facts.longest_repeat_tokens),
                       shortest_hit_text(geometry), human_count(shortest));
  if (facts.uncached_common_tokens > 0)
    return fmt::format("{} hits nothing: attention matched {} tokens, but no recurrent state was kept where prompts "
                       "part; smaller blocks or a match unit below the block keep one closer", block,
                       human_count(facts.uncached_common_tokens));
  if (facts.evictions > 0)
    return fmt::format(
        "{} hits nothing: {} evicted, each before a prompt came that begins with it; more memory would "
        "keep it",
        block, facts.evictions == 1 ? "1 block was" : human_count(facts.evictions) + " blocks were");
  return fmt::format("{} hits nothing on this trace", block);
}

std::string why_no_hits(const SimulationStats& stats, std::optional<std::int64_t> longest_repeat) {
  if (stats.prompt_tokens == 0 || stats.hit_tokens > 0) return {};
  return why_no_hits("the block", stats.geometry,
                     {.longest_prompt_tokens = stats.longest_prompt_tokens,
                      .longest_repeat_tokens = longest_repeat,
                      .uncached_common_tokens = stats.uncached_common_tokens(),
                      .evictions = stats.pool.evictions});
}

}  // namespace hybridkv
