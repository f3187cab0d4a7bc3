#include "report/replay/index_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/replay/replay_fields.h"
#include "report/replay/replay_text.h"
#include "report/replay/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;
using Tree = ReplayFields<TreeStats>;

Table tree_hits(const SimulateAnswer& answer) {
  static const Tree::List fields{
      Tree::name(),
      Tree::setting<&TreeSettings::token_slots>({"token_slots", "token", "slots"}),
      Tree::setting<&TreeSettings::state_slots>({"state_slots", "state", "slots"}),
      Tree::setting<&TreeSettings::page>({"page_tokens", "page", "tokens"}),
      Tree::of<&TreeStats::hit_tokens>({"hit_tokens", "hit", "tokens"}),
      {{"hit_rate", "hit", "rate"}, [](const auto& row) { return Percent{100 * row.stats.hit_rate()}; }},
      Tree::of<&TreeStats::requests_with_hit>({"requests_with_hit", "requests", "with a hit"}),
      {{"kv_match_rate", "by KV", "alone"},
       [](const auto& row) { return Percent{100 * row.stats.rate(row.stats.kv_match_tokens)}; }}};
  return Tree::table(fields, answer);
}

Table tree_holds(const SimulateAnswer& answer) {
  static const Tree::List fields{
      Tree::name(),
      Tree::of<&TreeStats::most_tree_tokens>({"most_tree_tokens", "tree's tokens", "at most"}),
      Tree::of<&TreeStats::most_tree_states>({"most_tree_states", "its states", "at most"}),
      Tree::of<&TreeStats::checkpoints_made>({"states_made", "states", "made"}),
      Tree::of<&TreeStats::checkpoints_used>({"states_used", "", "used"}),
      Tree::of<&TreeStats::checkpoints_evicted>({"evicted_states", "", "evicted"}),
      Tree::of<&TreeStats::evicted_unused_states>({"evicted_unused_states", "", "unused"}),
      Tree::of<&TreeStats::evicted_tokens>({"evicted_tokens", "tokens", "evicted"}),
      Tree::of<&TreeStats::requests_with_branch>({"requests_with_branch", "states at", "branches"}),
      {{"refused", "refused", "or stalled"}, [](const auto& row) { return row.stats.unserved(); }},
      Tree::of<&TreeStats::too_long>({"too_long", "refused as", "too long"})};
  return Tree::table(fields, answer);
}

Table tree_requests(std::span<const ReplayedCache> caches) {
  using Row = RequestRow<TreeRecord>;
  const auto of = [](auto member) { return via(&Row::record, member); };
  const auto chunks = [](const Row& row) { return fmt::format("{}", fmt::join(row.record().chunks, "+")); };
  return requests_table<TreeRecord>(
      {{{"name", "cache"}, via(&Row::cache, &ReplayedCache::name)},
       {{"idx", "request"}, of(&TreeRecord::index)},
       {{"input_length", "prompt", "tokens"}, of(&TreeRecord::input_length)},
       {{"hit_tokens", "hit", "tokens"}, of(&TreeRecord::hit_tokens)},
       {{"kv_match_tokens", "by KV", "alone"}, of(&TreeRecord::kv_match_tokens)},
       {{"branch_tokens", "branch", "at"}, of(&TreeRecord::branch_tokens)},
       {{"chunk_sizes", "chunks", "tokens"}, chunks},
       {{"tree_tokens", "tree's", "tokens"}, of(&TreeRecord::tree_tokens)},
       {{"tree_states", "tree's", "states"}, of(&TreeRecord::tree_states)},
       {{"status", "ended"}, of(&TreeRecord::status)}},
      caches);
}

/// Which rules in play no record of the engine covers.
std::string tree_modelled(const SimulateAnswer& answer) {
  std::vector<std::string> rules;
  const auto add = [&](bool in_play, const char* rule) {
    if (in_play && std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.emplace_back(rule);
  };
  for (const ReplayedCache& cache : answer.caches) {
    const TreeSettings& s = Tree::stats_of(cache).settings;
    add(cache.counts().unserved() > 0, "requests that do not fit");
    add(s.decodes && s.page > 1, "evictions in a decode with larger pages");
    add(s.decodes && s.strategy == TreeStrategy::extra_buffer_lazy,
        "requests that end while a lazy strategy writes a state");
    add(s.decodes && s.skip_decode_lock, "states that are not locked during decode");
    add(s.host.exists(), "the host tier");
    add(Tree::stats_of(cache).in_flight > 1, "several requests in flight");
  }
  return modelled_names_sentence(rules);
}

/// What lies behind the pools of a cache, and what it was good for.
std::string host_tier_text(const TreeStats& stats) {
  const TreeHost& host = stats.settings.host;
  return fmt::format("{} tokens and {} states behind the pools, {}; loaded back: {} tokens and {} states",
                     human_count(host.tokens), human_count(host.states), to_string(host.copies),
                     human_count(stats.loaded_tokens), human_count(stats.loaded_states));
}

std::string tree_driver_text(const TreeStats& stats, const DriverSpec& driver) {
  if (stats.in_flight > 1) return fmt::format("closed loop, {}, prefill and decode", in_flight_text(driver));
  return stats.settings.decodes ? "one request at a time in the order of the trace, prefill and decode"
                                : "one request at a time in the order of the trace, prefill only";
}

/// How full a pool was in which several requests were in flight.
std::string running_text(const TreeStats& stats) {
  return fmt::format("{} of at most {} at once, in {}; {} retracted for want of pages, {} tokens computed again",
                     human_count(stats.most_running), human_count(stats.settings.max_running),
                     human_plural(stats.steps, "step"), human_plural(stats.retractions, "time"),
                     human_count(stats.recomputed_tokens));
}

/// How requests come, and what the pools of the first cache follow.
std::vector<std::pair<std::string, std::string>> tree_facts(const SimulateAnswer& answer) {
  const TreeSettings& first = Tree::stats_of(answer.caches.front()).settings;
  std::string states = std::string(to_string(first.strategy));
  if (first.has_tracking())
    states += fmt::format(": a state at most every {} tokens of a prefill{}", human_count(first.checkpoint_grid()),
                          first.decodes ? fmt::format(", every {} of a decode", human_count(first.decode_grid()))
                                        : std::string());
  std::vector<std::pair<std::string, std::string>> facts{
      {"driver", tree_driver_text(Tree::stats_of(answer.caches.front()), answer.driver)},
      {"states", states},
      {"chunks", fmt::format("of at most {} tokens", human_count(first.chunk_tokens))}};
  for (const ReplayedCache& cache : answer.caches)
    if (const TreeStats& stats = Tree::stats_of(cache); stats.in_flight > 1)
      facts.emplace_back("running", running_text(stats));
  for (const ReplayedCache& cache : answer.caches)
    if (const TreeStats& stats = Tree::stats_of(cache); stats.settings.host.exists())
      facts.emplace_back("host", host_tier_text(stats));
  return facts;
}

IndexReport tree_report(const SimulateAnswer& answer) {
  IndexReport report{.rules = std::string(answer.rules->title),
                     .facts = tree_facts(answer),
                     .hits = tree_hits(answer),
                     .warnings = {},
                     .requests = tree_requests(answer.caches),
                     .held = {Heading{"What the tree holds"}, tree_holds(answer)},
                     .footer = tree_modelled(answer)};
  for (const ReplayedCache& cache : answer.caches) {
    const TreeSettings& settings = Tree::stats_of(cache).settings;
    report.warnings.push_back(unserved_warnings(cache, fmt::format("the pools of {} tokens and {} states even alone",
                                                                   human_count(settings.token_slots),
                                                                   human_count(settings.state_slots))));
  }
  return report;
}

Table tree_counters(const SimulateAnswer& answer) {
  static const Tree::List fields{
      Tree::name(),
      {{"strategy"}, [](const auto& row) { return row.stats.settings.strategy; }},
      Tree::setting<&TreeSettings::token_slots>({"token_slots"}),
      Tree::setting<&TreeSettings::state_slots>({"state_slots"}),
      Tree::setting<&TreeSettings::page>({"page_tokens"}),
      Tree::setting<&TreeSettings::chunk_tokens>({"chunk_tokens"}),
      {{"checkpoint_grid_tokens"}, [](const auto& row) { return row.stats.settings.checkpoint_grid(); }},
      {{"decode_grid_tokens"}, [](const auto& row) { return row.stats.settings.decode_grid(); }},
      Tree::of<&TreeStats::requests>({"requests"}),
      Tree::of<&TreeStats::prompt_tokens>({"prompt_tokens"}),
      Tree::of<&TreeStats::hit_tokens>({"hit_tokens"}),
      {{"hit_rate"}, [](const auto& row) { return Real{row.stats.hit_rate(), 6}; }},
      Tree::of<&TreeStats::requests_with_hit>({"requests_with_hit"}),
      Tree::of<&TreeStats::kv_match_tokens>({"kv_match_tokens"}),
      Tree::of<&TreeStats::requests_with_branch>({"requests_with_branch"}),
      Tree::of<&TreeStats::prefill_chunks>({"prefill_chunks"}),
      Tree::of<&TreeStats::generated_tokens>({"generated_tokens"}),
      Tree::of<&TreeStats::checkpoints_made>({"states_made"}),
      Tree::of<&TreeStats::checkpoints_used>({"states_used"}),
      Tree::of<&TreeStats::states_trimmed>({"states_trimmed"}),
      Tree::of<&TreeStats::evicted_tokens>({"evicted_tokens"}),
      Tree::of<&TreeStats::checkpoints_evicted>({"evicted_states"}),
      Tree::of<&TreeStats::evicted_unused_states>({"evicted_unused_states"}),
      Tree::of<&TreeStats::most_tree_tokens>({"most_tree_tokens"}),
      Tree::of<&TreeStats::most_tree_states>({"most_tree_states"}),
      Tree::of<&TreeStats::free_tokens>({"free_tokens"}),
      Tree::of<&TreeStats::free_states>({"free_states"}),
      Tree::of<&TreeStats::too_long>({"too_long"}),
      Tree::of<&TreeStats::refused>({"refused"}),
      Tree::of<&TreeStats::stalled>({"stalled"}),
      {{"token_exact_hit_tokens"}, [](const auto& row) { return row.cache.token_exact_hit_tokens; }},
      {{"feasible_tokens"}, [](const auto& row) { return feasible_cell(row.cache); }},
      {{"upper_tokens"}, [](const auto& row) { return upper_cell(row.cache); }},
      Tree::of<&TreeStats::taken_prompt_tokens>({"taken_prompt_tokens"})};
  return Tree::table(fields, answer);
}

ordered_json tree_extras(const ReplayedCache& cache) {
  const TreeStats& stats = Tree::stats_of(cache);
  const TreeHost& host = stats.settings.host;
  ordered_json json = ordered_json::object();
  if (stats.in_flight > 1)
    json["in_flight"] = {{"requests", stats.in_flight},
                         {"most_running", stats.most_running},
                         {"steps", stats.steps},
                         {"retractions", stats.retractions},
                         {"recomputed_tokens", stats.recomputed_tokens}};
  if (!host.exists()) return json;
  json["host"] = {{"token_slots", host.tokens},
                  {"state_slots", host.states},
                  {"write_policy", std::string(to_string(host.copies))},
                  {"loaded_tokens", stats.loaded_tokens},
                  {"loaded_states", stats.loaded_states}};
  return json;
}

ordered_json tree_requests_json(const ReplayedCache& cache) { return to_json(tree_requests({&cache, 1})); }

}  // namespace

const IndexReporter tree_reporter{tree_report, tree_counters, tree_extras, tree_requests_json};

}  // namespace hybridkv
