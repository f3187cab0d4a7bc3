#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "report/human.h"
#include "report/recommend/recommend_settings.h"

namespace hybridkv {

namespace {

const SequenceRows& rows_in(const CandidateRow& row) { return *row.layout().plan.rows; }

std::string saved_room_text(const SequenceRows& rows) {
  if (rows.saved_bytes == 0) return "none for saved prompts";
  return rows.saved_bytes < 0 ? std::string("saved prompts of as many tokens as cells")
                              : fmt::format("{} for saved prompts", human_bytes(rows.saved_bytes));
}

/// All that checkpoints and saved prompts may take; nothing where these have no limit in bytes.
std::optional<std::int64_t> most_host_bytes(const SequenceRows& rows) {
  if (rows.saved_bytes < 0) return std::nullopt;
  return Checked(rows.host_bytes()) + rows.saved_bytes;
}

std::string settings_of_slots(const RecommendAnswer& report, const Candidate& candidate) {
  const SequenceRows& rows = *report.result.layout_of(candidate).plan.rows;
  std::string text = human_plural(rows.sequences, "slot") + fmt::format(", {}", human_plural(rows.checkpoints,
                                                                                             "checkpoint"));
  if (rows.checkpoints > 0) text += fmt::format(" each, older ones {} tokens apart",
                                                human_count(rows.checkpoint_step_tokens));
  return text + ", " + saved_room_text(rows);
}

void add_space_of_slots(Facts& facts, const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const SearchSpace& space = result.space;
  facts.entries.emplace_back("slots", fmt::format("{}", fmt::join(space.slots, ", ")));
  facts.entries.emplace_back("checkpoints", fmt::format("{} a slot", fmt::join(space.slot_checkpoints, ", ")));
  facts.entries.emplace_back(
      "steps", fmt::format("{} tokens between older checkpoints", fmt::join(space.checkpoint_steps, ", ")));
  facts.entries.emplace_back("saved", fmt::format("{} MiB of prompts on the host", fmt::join(space.cache_rams, ", ")));
  facts.entries.emplace_back("search", whole_search_text(result));
}

Facts picked_slots(const Recommendation& result, const Candidate& pick, const std::string& prefix) {
  const CachePlan& plan = result.layout_of(pick).plan;
  Facts facts;
  facts.entries.emplace_back("slots", fmt::format("{} over {} cells", human_plural(plan.rows->sequences, "slot"),
                                                  human_count(plan.arenas.front().usable_ids())));
  facts.entries.emplace_back("request", held_requests_text(result, pick));
  facts.entries.emplace_back("prefix", prefix);
  add_states_found(facts, pick);
  facts.entries.emplace_back("host", fmt::format("{} for {} of {} a slot, {}", human_bytes(plan.rows->host_bytes()),
                                                 human_plural(plan.rows->checkpoints, "checkpoint"),
                                                 human_bytes(plan.rows->checkpoint_bytes),
                                                 saved_room_text(*plan.rows)));
  return facts;
}

/// Checkpoints and saved prompts take no memory of the device, so that no objective weighs them.
void add_slot_reasons(const RecommendAnswer& report, RecommendReasons& reasons) {
  add_at_once_reason(report, reasons);
  const Recommendation& result = report.result;
  if (!result.default_candidate) return;
  const auto host = most_host_bytes(*result.layout_of(result.pick).plan.rows);
  const auto of_default = most_host_bytes(*result.layout_of(*result.default_candidate).plan.rows);
  if (!host || !of_default || host == of_default) return;
  (host > of_default ? reasons.costs : reasons.gains)
      .push_back(fmt::format("{} of the host for all checkpoints and saved prompts instead of {}.", human_bytes(*host),
                             human_bytes(*of_default)));
}

Cell slots_cell(const CandidateRow& row) { return rows_in(row).sequences; }
Cell checkpoints_cell(const CandidateRow& row) { return rows_in(row).checkpoints; }
Cell step_cell(const CandidateRow& row) {
  return rows_in(row).checkpoints > 0 ? Cell(rows_in(row).checkpoint_step_tokens) : Cell();
}
Cell cache_ram_cell(const CandidateRow& row) { return rows_in(row).saved_mib(); }
Cell cells_cell(const CandidateRow& row) { return row.layout().plan.arenas.front().usable_ids(); }

std::vector<CandidateField> front_of_slots(const Recommendation&) {
  return joined({{{{"slots", "slots"}, slots_cell},
                  {{"ctx_checkpoints", "check-", "points"}, checkpoints_cell},
                  {{"checkpoint_min_step", "step"}, step_cell},
                  {{"cache_ram", "saved", "MiB"}, cache_ram_cell},
                  {{"cells", "cells"}, cells_cell}},
                 front_of_held()});
}

std::vector<CandidateField> fields_of_slots() {
  return joined({{{{"slots", "slots"}, slots_cell},
                  {{"ctx_checkpoints", "checkpoints"}, checkpoints_cell},
                  {{"checkpoint_min_step", "step"}, step_cell},
                  {{"cells", "cells"}, cells_cell},
                  {{"host_bytes", "host"}, [](const CandidateRow& row) { return Cell(rows_in(row).host_bytes()); }},
                  {{"cache_ram", "saved"}, cache_ram_cell}},
                 held_fields(),
                 found_fields(),
                 state_fields(),
                 choice_fields()});
}

/// Candidates with as many slots as the pick of which none computes less again with as little of the host, least first.
std::vector<CandidateRow> steps_of_host(const RecommendAnswer& report) {
  const auto row = [&](std::size_t at) { return CandidateRow{report, at}; };
  const auto again = [&](std::size_t at) { return row(at).candidate().objectives.reprefilled_tokens; };
  const auto host = [&](std::size_t at) { return most_host_bytes(rows_in(row(at))); };
  std::vector<std::size_t> positions;
  const std::int64_t slots = rows_in(row(report.result.pick)).sequences;
  for (std::size_t at = 0; at < report.result.candidates.size(); ++at)
    if (eligible(row(at).candidate()) && rows_in(row(at)).sequences == slots && host(at)) positions.push_back(at);
  std::stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(*host(a), again(a)) < std::pair(*host(b), again(b));
  });
  std::vector<CandidateRow> steps;
  std::optional<std::int64_t> least;
  for (const std::size_t at : positions) {
    if (least && again(at) >= *least) continue;
    least = again(at);
    steps.push_back(row(at));
  }
  return steps;
}

/// What more of the host's memory brings, which no objective weighs.
void add_host_steps(Document& document, const RecommendAnswer& report, const RecommendReasons&) {
  const std::vector<CandidateRow> steps = steps_of_host(report);
  if (steps.size() < 2) return;
  document.blocks.emplace_back(Heading{"Memory of the host, with as many slots as the pick"});
  document.blocks.emplace_back(table_of<CandidateRow>(
      {{{"host_bytes", "host", "", Align::right},
        [](const CandidateRow& row) { return Cell(human_bytes(*most_host_bytes(rows_in(row)))); }},
       {{"ctx_checkpoints", "check-", "points"}, checkpoints_cell},
       {{"checkpoint_min_step", "step"}, step_cell},
       {{"cache_ram", "saved", "MiB"}, cache_ram_cell},
       {{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
       {{"hit_rate", "hit", "rate"}, hit_percent_cell}},
      steps));
  document.blocks.emplace_back(Paragraph{fmt::format(
      "The host holds all checkpoints of all slots, and as many saved prompts as may be{}. Each line computes less "
      "again than those above it.",
      report.host_memory_bytes
          ? fmt::format(", within {} (simulate.host_memory)", human_bytes(*report.host_memory_bytes))
          : std::string())});
}

}  // namespace

const SearchReporter slot_search_reporter{.add_space = add_space_of_slots,
                                          .pick = picked_slots,
                                          .settings = settings_of_slots,
                                          .add_reasons = add_slot_reasons,
                                          .add_beside = add_host_steps,
                                          .front = front_of_slots,
                                          .candidates = fields_of_slots,
                                          .search = whole_search_json,
                                          .at_once = "requests that slots and cells hold",
                                          .reference = "the default",
                                          .impossible = "Settings that cannot run",
                                          .combination = "combination"};

}  // namespace hybridkv
