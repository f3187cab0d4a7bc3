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
      Slots::of<&SlotStats::prompts_saved>({"prompts_saved", "prompts", "saved"}),
      Slots::of<&SlotStats::prompts_loaded>({"prompts_loaded", "", "loaded"}),
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

std::string saved_prompts_text(const SlotSettings& settings) {
  if (!settings.saves_prompts()) return "no prompts";
  const std::string idle = !settings.saves_idle ? ""
                           : settings.unified   ? ", and of idle slots when a request starts, which are then cleared"
                                                : ", and of idle slots when a request starts";
  const std::string limit = settings.saved_bytes < 0 ? human_plural(settings.cells, "token")
                                                     : human_bytes(settings.saved_bytes);
  return fmt::format("up to {} of prompts on the host, of a slot that takes another one{}", limit, idle);
}

std::vector<std::pair<std::string, std::string>> slots_facts(const SimulateAnswer& answer) {
  const SlotSettings& first = Slots::stats_of(answer.caches.front()).settings;
  return {{"driver", "one request at a time in the order of the trace, one token generated"},
          {"slots", fmt::format("{} of one sequence each, {} {}; one is taken for its content where it shares more "
                                "than {:.0f} % of a prompt",
                                human_count(first.slots), human_plural(first.cells, "cell"),
                                first.unified ? "that all share" : "in equal parts", 100 * first.least_similarity)},
          {"states", first.checkpoints == 0
                         ? std::string("no checkpoints: only a sequence that goes on is found again")
                         : fmt::format("up to {} of a slot, {} apart once there are as many",
                                       human_plural(first.checkpoints, "checkpoint"),
                                       human_plural(first.checkpoint_step, "token"))},
          {"saved", saved_prompts_text(first)}};
}

/// What else has changed when a request is refused.
std::string before_refusal(const SlotSettings& settings) {
  if (!settings.saves_prompts()) return "";
  const char* const idle = !settings.saves_idle ? "" : settings.unified ? ", and idle slots were saved and cleared"
                                                                        : ", and idle slots were saved";
  return fmt::format("; what the slot held may have been exchanged for a saved prompt{}", idle);
}

/// Beside requests that are not served: what the engine does wrong, and what costs all reuse.
std::vector<std::string> slots_warnings(const ReplayedCache& cache) {
  const SlotStats& stats = Slots::stats_of(cache);
  std::vector<std::string> warnings = unserved_warnings(
      cache, fmt::format("the context of a slot ({})", human_plural(stats.settings.context_of_slot(), "token")));
  if (stats.refused > 0)
    warnings.push_back(fmt::format("a request is refused only once it has a slot, which then counts as just used{}.",
                                   before_refusal(stats.settings)));
  if (stats.stale_restores > 0)
    warnings.push_back(fmt::format("{} went on from a checkpoint of other tokens, so that its answer is wrong: the "
                                   "server keeps one that lies a single token behind where a prompt goes on, whatever "
                                   "that token is.", human_plural(stats.stale_restores, "request")));
  if (stats.settings.window_tokens > 0 && stats.hit_tokens == 0 && stats.kv_match_tokens > 0)
    warnings.push_back(fmt::format("nothing is reused although {} tokens were in the slots: a prompt goes on only from "
                                   "a checkpoint more than the window of {} tokens back; set engine.swa_full.",
                                   human_count(stats.kv_match_tokens), human_count(stats.settings.window_tokens)));
  return warnings;
}

IndexReport slots_report(const SimulateAnswer& answer) {
  IndexReport report{.rules = std::string(answer.rules->title),
                     .facts = slots_facts(answer),
                     .hits = slots_hits(answer),
                     .warnings = {},
                     .requests = slots_requests(answer.caches),
                     .held = {Heading{"What the slots keep"}, slots_keep(answer)},
                     .footer = fmt::format("{} was run, one request at a time: slots, tokens and every event of its "
                                           "log are met.", answer.rules->title)};
  for (const ReplayedCache& cache : answer.caches) report.warnings.push_back(slots_warnings(cache));
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
      Slots::of<&SlotStats::taken_prompt_tokens>({"taken_prompt_tokens"}),
      Slots::setting<&SlotSettings::saved_bytes>({"saved_bytes"}),
      Slots::of<&SlotStats::prompts_saved>({"prompts_saved"}),
      Slots::of<&SlotStats::prompts_loaded>({"prompts_loaded"}),
      Slots::of<&SlotStats::stale_restores>({"stale_restores"})};
  return Slots::table(fields, answer);
}

ordered_json slots_extras(const ReplayedCache&) { return ordered_json::object(); }

ordered_json slots_requests_json(const ReplayedCache& cache) { return to_json(slots_requests({&cache, 1})); }

}  // namespace

const IndexReporter slots_reporter{slots_report, slots_counters, slots_extras, slots_requests_json};

}  // namespace hybridkv
