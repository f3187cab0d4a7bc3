#include "report/replay/index_report.h"

#include <fmt/format.h>

#include <span>

#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/plan/pool_groups_facts.h"
#include "report/replay/replay_fields.h"
#include "report/replay/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;
using Snapshots = ReplayFields<SnapshotStats>;

Table snapshots_hits(const SimulateAnswer& answer) {
  static const Snapshots::List fields{
      Snapshots::name(),
      Snapshots::setting<&SnapshotSettings::blocks>({"blocks", "blocks"}),
      Snapshots::setting<&SnapshotSettings::states>({"states", "states"}),
      Snapshots::of<&SnapshotStats::hit_tokens>({"hit_tokens", "hit", "tokens"}),
      {{"hit_rate", "hit", "rate"},
       [](const Snapshots::Row& row) { return Cell(Percent{100 * row.stats.hit_rate()}); }},
      Snapshots::of<&SnapshotStats::requests_with_hit>({"requests_with_hit", "requests", "with a hit"}),
      {{"kv_match_rate", "by KV", "alone"},
       [](const Snapshots::Row& row) { return Cell(Percent{100 * row.stats.rate(row.stats.kv_match_tokens)}); }}};
  return Snapshots::table(fields, answer);
}

Table snapshots_kept(const SimulateAnswer& answer) {
  static const Snapshots::List fields{
      Snapshots::name(),
      Snapshots::of<&SnapshotStats::most_tree_tokens>({"most_tree_tokens", "tree's tokens", "at most"}),
      Snapshots::of<&SnapshotStats::most_tree_states>({"most_tree_states", "its states", "at most"}),
      Snapshots::of<&SnapshotStats::checkpoints_made>({"states_made", "states", "made"}),
      Snapshots::of<&SnapshotStats::checkpoints_used>({"states_used", "", "used"}),
      Snapshots::of<&SnapshotStats::checkpoints_evicted>({"evicted_states", "", "evicted"}),
      Snapshots::of<&SnapshotStats::evicted_blocks>({"evicted_blocks", "blocks", "evicted"}),
      Snapshots::of<&SnapshotStats::requests_with_branch>({"requests_with_branch", "states at", "branches"}),
      Snapshots::of<&SnapshotStats::refused>({"refused", "refused"}),
      Snapshots::of<&SnapshotStats::too_long>({"too_long", "refused as", "too long"})};
  return Snapshots::table(fields, answer);
}

Table snapshots_requests(std::span<const ReplayedCache> caches) {
  Table table({{"name", "cache", "", Align::left},
               {"idx", "request"},
               {"input_length", "prompt", "tokens"},
               {"content_match", "in the tree", "tokens"},
               {"attention_match", "by KV alone", "tokens"},
               {"hit_tokens", "hit", "tokens"},
               {"branch_at", "branch", "at"},
               {"num_snapshots", "snapshots"},
               {"status", "ended", "", Align::left}});
  for (const ReplayedCache& cache : caches)
    for (const ListedRequest& listed : cache.requests) {
      const auto& record = std::get<SnapshotRecord>(listed.record);
      table.add_row({cache.name, record.index, record.input_length, record.content_tokens, record.attention_tokens,
                     record.hit_tokens, record.branch_tokens > 0 ? Cell(record.branch_tokens) : Cell(),
                     record.num_snapshots, std::string(to_string(record.status))});
    }
  return table;
}

/// What lies behind the pools of a cache, and what it was good for.
std::string snapshots_host_text(const SnapshotStats& stats) {
  return fmt::format("{} and {} behind the pools; brought back: {} and {}",
                     human_plural(stats.settings.host_blocks, "block"),
                     human_plural(stats.settings.host_states, "state"), human_plural(stats.loaded_blocks, "block"),
                     human_plural(stats.loaded_states, "state"));
}

std::vector<std::pair<std::string, std::string>> snapshots_facts(const SimulateAnswer& answer) {
  const SnapshotSettings& first = Snapshots::stats_of(answer.caches.front()).settings;
  std::vector<std::pair<std::string, std::string>> facts{
      {"driver", first.decodes ? "one request at a time in the order of the trace, with its output"
                               : "one request at a time in the order of the trace, prefill only"},
      {"blocks", fmt::format("of {}; {}", human_plural(first.block_tokens, "token"),
                             first.partial_reuse ? "parts of one are found again too"
                                                 : "whole ones alone are found again")},
      {"states", first.points.any() ? fmt::format("a snapshot of each prompt {}", snapshots_text(first.points))
                                    : std::string("no snapshot is ever taken")}};
  for (const ReplayedCache& cache : answer.caches)
    if (const SnapshotStats& stats = Snapshots::stats_of(cache); stats.settings.has_host())
      facts.emplace_back("host", snapshots_host_text(stats));
  return facts;
}

/// Said loudly: with block reuse on, nobody expects it.
void warn_nothing_found(std::vector<std::string>& warnings, const SnapshotSettings& settings) {
  if (settings.points.any()) return;
  warnings.push_back(
      "No snapshot of a state is ever taken, so nothing is found again: set "
      "engine.additional_snapshot_offsets_from_end: [0], engine.periodic_snapshot_interval or "
      "engine.enable_branch_snapshot: true.");
}

IndexReport snapshots_report(const SimulateAnswer& answer) {
  IndexReport report{.rules = std::string(answer.rules->title),
                     .facts = snapshots_facts(answer),
                     .hits = snapshots_hits(answer),
                     .warnings = {},
                     .requests = snapshots_requests(answer.caches),
                     .held = {Heading{"What the tree keeps"}, snapshots_kept(answer)},
                     .footer = ""};
  for (const ReplayedCache& cache : answer.caches) {
    const SnapshotSettings& settings = Snapshots::stats_of(cache).settings;
    std::vector<std::string> warnings =
        unserved_warnings(cache, fmt::format("{} even alone", human_plural(settings.blocks, "block")));
    warn_nothing_found(warnings, settings);
    report.warnings.push_back(std::move(warnings));
  }
  return report;
}

Table snapshots_counters(const SimulateAnswer& answer) {
  static const Snapshots::List fields{
      Snapshots::name(),
      Snapshots::setting<&SnapshotSettings::blocks>({"blocks"}),
      Snapshots::setting<&SnapshotSettings::states>({"states"}),
      Snapshots::setting<&SnapshotSettings::block_tokens>({"block_size_tokens"}),
      Snapshots::of<&SnapshotStats::requests>({"requests"}),
      Snapshots::of<&SnapshotStats::prompt_tokens>({"prompt_tokens"}),
      Snapshots::of<&SnapshotStats::hit_tokens>({"hit_tokens"}),
      {{"hit_rate"}, [](const Snapshots::Row& row) { return Cell(Real{row.stats.hit_rate(), 6}); }},
      Snapshots::of<&SnapshotStats::requests_with_hit>({"requests_with_hit"}),
      Snapshots::of<&SnapshotStats::kv_match_tokens>({"kv_match_tokens"}),
      Snapshots::of<&SnapshotStats::requests_with_branch>({"requests_with_branch"}),
      Snapshots::of<&SnapshotStats::prefill_chunks>({"prefill_chunks"}),
      Snapshots::of<&SnapshotStats::generated_tokens>({"generated_tokens"}),
      Snapshots::of<&SnapshotStats::snapshots>({"snapshots"}),
      Snapshots::of<&SnapshotStats::checkpoints_made>({"states_made"}),
      Snapshots::of<&SnapshotStats::checkpoints_used>({"states_used"}),
      Snapshots::of<&SnapshotStats::checkpoints_evicted>({"evicted_states"}),
      Snapshots::of<&SnapshotStats::evicted_blocks>({"evicted_blocks"}),
      Snapshots::of<&SnapshotStats::most_tree_tokens>({"most_tree_tokens"}),
      Snapshots::of<&SnapshotStats::most_tree_states>({"most_tree_states"}),
      Snapshots::of<&SnapshotStats::free_blocks>({"free_blocks"}),
      Snapshots::of<&SnapshotStats::free_states>({"free_states"}),
      Snapshots::of<&SnapshotStats::too_long>({"too_long"}),
      Snapshots::of<&SnapshotStats::refused>({"refused"}),
      Snapshots::of<&SnapshotStats::stalled>({"stalled"}),
      {{"token_exact_hit_tokens"}, [](const Snapshots::Row& row) { return cell_of(row.cache.token_exact_hit_tokens); }},
      Snapshots::of<&SnapshotStats::taken_prompt_tokens>({"taken_prompt_tokens"})};
  return Snapshots::table(fields, answer);
}

ordered_json snapshots_extras(const ReplayedCache& cache) {
  const SnapshotStats& stats = Snapshots::stats_of(cache);
  ordered_json json = ordered_json::object();
  if (stats.settings.has_host())
    json["host"] = {{"blocks", stats.settings.host_blocks},
                    {"states", stats.settings.host_states},
                    {"loaded_blocks", stats.loaded_blocks},
                    {"loaded_states", stats.loaded_states}};
  return json;
}

ordered_json snapshots_requests_json(const ReplayedCache& cache) { return to_json(snapshots_requests({&cache, 1})); }

}  // namespace

const IndexReporter snapshots_reporter{snapshots_report, snapshots_counters, snapshots_extras,
                                       snapshots_requests_json};

}  // namespace hybridkv
