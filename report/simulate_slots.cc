#include "report/index_report.h"

#include <fmt/format.h>

#include <span>

#include "planner/engine_rules.h"
#include "report/field.h"
#include "report/human.h"
#include "report/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// A cache in an answer, of which the tables have a row.
struct SlotsRow {
  const ReplayedCache& cache;
  const SlotStats& stats;
};
using SlotsField = Field<SlotsRow>;

const SlotStats& slots_of(const ReplayedCache& cache) { return std::get<SlotStats>(cache.index); }

std::vector<SlotsRow> slots_rows(const SimulateAnswer& answer) {
  std::vector<SlotsRow> rows;
  for (const ReplayedCache& cache : answer.caches) rows.push_back({cache, slots_of(cache)});
  return rows;
}

SlotsField slots_name() {
  return {{"name", "cache", "", Align::left}, [](const SlotsRow& row) { return Cell(row.cache.name); }};
}
template <auto Member>
SlotsField of_slots(Column column) {
  return {std::move(column), [](const SlotsRow& row) { return Cell(row.stats.*Member); }};
}
template <auto Member>
SlotsField setting_of_slots(Column column) {
  return {std::move(column), [](const SlotsRow& row) { return Cell(row.stats.settings.*Member); }};
}

Table slots_hits(const SimulateAnswer& answer) {
  static const std::vector<SlotsField> fields{
      slots_name(),
      setting_of_slots<&SlotSettings::slots>({"slots", "slots"}),
      setting_of_slots<&SlotSettings::cells>({"cells", "cells", "of all"}),
      of_slots<&SlotStats::hit_tokens>({"hit_tokens", "hit", "tokens"}),
      {{"hit_rate", "hit", "rate"}, [](const SlotsRow& row) { return Cell(Percent{100 * row.stats.hit_rate()}); }},
      of_slots<&SlotStats::requests_with_hit>({"requests_with_hit", "requests", "with a hit"}),
      {{"kv_match_rate", "by KV", "alone"},
       [](const SlotsRow& row) { return Cell(Percent{100 * row.stats.rate(row.stats.kv_match_tokens)}); }}};
  return table_of(fields, slots_rows(answer));
}

Table slots_keep(const SimulateAnswer& answer) {
  static const std::vector<SlotsField> fields{
      slots_name(),
      setting_of_slots<&SlotSettings::checkpoints>({"checkpoints", "checkpoints", "of a slot"}),
      of_slots<&SlotStats::checkpoints_made>({"checkpoints_made", "", "made"}),
      of_slots<&SlotStats::checkpoints_used>({"checkpoints_used", "", "used"}),
      of_slots<&SlotStats::checkpoints_evicted>({"checkpoints_dropped", "", "dropped"}),
      of_slots<&SlotStats::refused>({"refused", "refused"}),
      of_slots<&SlotStats::too_long>({"too_long", "refused as", "too long"})};
  return table_of(fields, slots_rows(answer));
}

Table slots_requests(std::span<const ReplayedCache> caches) {
  Table table({{"name", "cache", "", Align::left},
               {"idx", "request"},
               {"input_length", "prompt", "tokens"},
               {"slot", "slot"},
               {"kv_match_tokens", "in the slot", "tokens"},
               {"hit_tokens", "hit", "tokens"},
               {"checkpoints_made", "checkpoints", "made"},
               {"checkpoints_dropped", "", "dropped"},
               {"status", "ended", "", Align::left}});
  for (const ReplayedCache& cache : caches)
    for (const ListedRequest& listed : cache.requests) {
      const auto& record = std::get<SlotRecord>(listed.record);
      table.add_row({cache.name, record.index, record.input_length, record.slot < 0 ? Cell() : Cell(record.slot),
                     record.common_tokens, record.hit_tokens, record.checkpoints_made, record.checkpoints_dropped,
                     std::string(to_string(record.status))});
    }
  return table;
}

std::vector<std::pair<std::string, std::string>> slots_facts(const SimulateAnswer& answer) {
  const SlotSettings& first = slots_of(answer.caches.front()).settings;
  return {{"driver", "one request at a time in the order of the trace, prefill only"},
          {"slots", fmt::format("{} of one sequence each, {} in all; one is taken for its content where it shares more "
                                "than {:.0f} % of a prompt",
                                human_count(first.slots), human_plural(first.cells, "cell"),
                                100 * first.least_similarity)},
          {"states", first.checkpoints == 0
                         ? std::string("no checkpoints: only a sequence that goes on is found again")
                         : fmt::format("up to {} of a slot, {} apart where they are of earlier requests",
                                       human_plural(first.checkpoints, "checkpoint"),
                                       human_plural(first.checkpoint_step, "token"))}};
}

IndexReport slots_report(const SimulateAnswer& answer) {
  IndexReport report{.rules = std::string(answer.rules->title),
                     .facts = slots_facts(answer),
                     .hits = slots_hits(answer),
                     .warnings = {},
                     .requests = slots_requests(answer.caches),
                     .held = {Heading{"What the slots keep"}, slots_keep(answer)},
                     .footer = fmt::format("Read, not run: all of this follows the source of {}; no replay of it "
                                           "confirms a number.", answer.rules->title)};
  for (const ReplayedCache& cache : answer.caches)
    report.warnings.push_back(
        unserved_warnings(cache, fmt::format("{} even alone", human_plural(slots_of(cache).settings.cells, "cell"))));
  return report;
}

Table slots_counters(const SimulateAnswer& answer) {
  static const std::vector<SlotsField> fields{
      slots_name(),
      setting_of_slots<&SlotSettings::slots>({"slots"}),
      setting_of_slots<&SlotSettings::cells>({"cells"}),
      setting_of_slots<&SlotSettings::checkpoints>({"checkpoints"}),
      setting_of_slots<&SlotSettings::checkpoint_step>({"checkpoint_step_tokens"}),
      of_slots<&SlotStats::requests>({"requests"}),
      of_slots<&SlotStats::prompt_tokens>({"prompt_tokens"}),
      of_slots<&SlotStats::hit_tokens>({"hit_tokens"}),
      {{"hit_rate"}, [](const SlotsRow& row) { return Cell(Real{row.stats.hit_rate(), 6}); }},
      of_slots<&SlotStats::requests_with_hit>({"requests_with_hit"}),
      of_slots<&SlotStats::kv_match_tokens>({"kv_match_tokens"}),
      of_slots<&SlotStats::checkpoints_made>({"checkpoints_made"}),
      of_slots<&SlotStats::checkpoints_used>({"checkpoints_used"}),
      of_slots<&SlotStats::checkpoints_evicted>({"checkpoints_dropped"}),
      of_slots<&SlotStats::too_long>({"too_long"}),
      of_slots<&SlotStats::refused>({"refused"}),
      {{"token_exact_hit_tokens"}, [](const SlotsRow& row) { return cell_of(row.cache.token_exact_hit_tokens); }},
      of_slots<&SlotStats::taken_prompt_tokens>({"taken_prompt_tokens"})};
  return table_of(fields, slots_rows(answer));
}

ordered_json slots_extras(const ReplayedCache&) { return ordered_json::object(); }

ordered_json slots_requests_json(const ReplayedCache& cache) { return to_json(slots_requests({&cache, 1})); }

}  // namespace

const IndexReporter slots_reporter{slots_report, slots_counters, slots_extras, slots_requests_json};

}  // namespace hybridkv
