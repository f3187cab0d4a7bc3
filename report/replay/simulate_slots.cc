#include "report/replay/index_report.h"

#include <fmt/format.h>

#include <span>

#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/replay/replay_fields.h"
#include "report/replay/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;
using Slots = ReplayFields<SlotStats>;

Table slots_hits(const SimulateAnswer& answer) {
  static const Slots::List fields{
      Slots::name(),
      Slots::setting<&SlotSettings::slots>({"slots", "slots"}),
      Slots::setting<&SlotSettings::cells>({"cells", "cells", "of all"}),
      Slots::of<&SlotStats::hit_tokens>({"hit_tokens", "hit", "tokens"}),
      {{"hit_rate", "hit", "rate"}, [](const auto& row) { return Percent{100 * row.stats.hit_rate()}; }},
      Slots::of<&SlotStats::requests_with_hit>({"requests_with_hit", "requests", "with a hit"}),
      {{"kv_match_rate", "by KV", "alone"},
       [](const auto& row) { return Percent{100 * row.stats.rate(row.stats.kv_match_tokens)}; }}};
  return Slots::table(fields, answer);
}

Table slots_keep(const SimulateAnswer& answer) {
  static const Slots::List fields{
      Slots::name(),
      Slots::setting<&SlotSettings::checkpoints>({"checkpoints", "checkpoints", "of a slot"}),
      Slots::of<&SlotStats::checkpoints_made>({"checkpoints_made", "", "made"}),
      Slots::of<&SlotStats::checkpoints_used>({"checkpoints_used", "", "used"}),
      Slots::of<&SlotStats::checkpoints_evicted>({"checkpoints_dropped", "", "dropped"}),
      Slots::of<&SlotStats::refused>({"refused", "refused"}),
      Slots::of<&SlotStats::too_long>({"too_long", "refused as", "too long"})};
  return Slots::table(fields, answer);
}

Table slots_requests(std::span<const ReplayedCache> caches) {
  using Row = RequestRow<SlotRecord>;
  const auto of = [](auto member) { return via(&Row::record, member); };
  const auto has_slot = [](const Row& row) { return row.record().slot >= 0; };
  return requests_table<SlotRecord>(
      {{{"name", "cache"}, via(&Row::cache, &ReplayedCache::name)},
       {{"idx", "request"}, of(&SlotRecord::index)},
       {{"input_length", "prompt", "tokens"}, of(&SlotRecord::input_length)},
       {{"slot", "slot"}, where(has_slot, of(&SlotRecord::slot))},
       {{"kv_match_tokens", "in the slot", "tokens"}, of(&SlotRecord::common_tokens)},
       {{"hit_tokens", "hit", "tokens"}, of(&SlotRecord::hit_tokens)},
       {{"checkpoints_made", "checkpoints", "made"}, of(&SlotRecord::checkpoints_made)},
       {{"checkpoints_dropped", "", "dropped"}, of(&SlotRecord::checkpoints_dropped)},
       {{"status", "ended"}, of(&SlotRecord::status)}},
      caches);
}

std::vector<std::pair<std::string, std::string>> slots_facts(const SimulateAnswer& answer) {
  const SlotSettings& first = Slots::stats_of(answer.caches.front()).settings;
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
    report.warnings.push_back(unserved_warnings(
        cache, fmt::format("{} even alone", human_plural(Slots::stats_of(cache).settings.cells, "cell"))));
  return report;
}

Table slots_counters(const SimulateAnswer& answer) {
  static const Slots::List fields{
      Slots::name(),
      Slots::setting<&SlotSettings::slots>({"slots"}),
      Slots::setting<&SlotSettings::cells>({"cells"}),
      Slots::setting<&SlotSettings::checkpoints>({"checkpoints"}),
      Slots::setting<&SlotSettings::checkpoint_step>({"checkpoint_step_tokens"}),
      Slots::of<&SlotStats::requests>({"requests"}),
      Slots::of<&SlotStats::prompt_tokens>({"prompt_tokens"}),
      Slots::of<&SlotStats::hit_tokens>({"hit_tokens"}),
      {{"hit_rate"}, [](const auto& row) { return Real{row.stats.hit_rate(), 6}; }},
      Slots::of<&SlotStats::requests_with_hit>({"requests_with_hit"}),
      Slots::of<&SlotStats::kv_match_tokens>({"kv_match_tokens"}),
      Slots::of<&SlotStats::checkpoints_made>({"checkpoints_made"}),
      Slots::of<&SlotStats::checkpoints_used>({"checkpoints_used"}),
      Slots::of<&SlotStats::checkpoints_evicted>({"checkpoints_dropped"}),
      Slots::of<&SlotStats::too_long>({"too_long"}),
      Slots::of<&SlotStats::refused>({"refused"}),
      {{"token_exact_hit_tokens"}, [](const auto& row) { return row.cache.token_exact_hit_tokens; }},
      Slots::of<&SlotStats::taken_prompt_tokens>({"taken_prompt_tokens"})};
  return Slots::table(fields, answer);
}

ordered_json slots_extras(const ReplayedCache&) { return ordered_json::object(); }

ordered_json slots_requests_json(const ReplayedCache& cache) { return to_json(slots_requests({&cache, 1})); }

}  // namespace

const IndexReporter slots_reporter{slots_report, slots_counters, slots_extras, slots_requests_json};

}  // namespace hybridkv
