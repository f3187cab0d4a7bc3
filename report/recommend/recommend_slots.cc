#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/human.h"
#include "report/recommend/recommend_settings.h"

namespace hybridkv {

namespace {

const SequenceRows& rows_in(const CandidateRow& row) { return *row.layout().plan.rows; }

std::string settings_of_slots(const RecommendAnswer& report, const Candidate& candidate) {
  const SequenceRows& rows = *report.result.layout_of(candidate).plan.rows;
  std::string text = human_plural(rows.sequences, "slot") + fmt::format(", {}", human_plural(rows.checkpoints,
                                                                                             "checkpoint"));
  if (rows.checkpoints > 0) text += fmt::format(" each, older ones {} tokens apart",
                                                human_count(rows.checkpoint_step_tokens));
  return text;
}

void add_space_of_slots(Facts& facts, const Recommendation& result) {
  const SearchSpace& space = result.space;
  facts.entries.emplace_back("slots", fmt::format("{}", fmt::join(space.slots, ", ")));
  facts.entries.emplace_back("checkpoints", fmt::format("{} a slot", fmt::join(space.slot_checkpoints, ", ")));
  facts.entries.emplace_back(
      "steps", fmt::format("{} tokens between older checkpoints", fmt::join(space.checkpoint_steps, ", ")));
  facts.entries.emplace_back("search", whole_search_text(result));
}

Facts picked_slots(const Recommendation& result, const Candidate& pick, const std::string& prefix) {
  const CachePlan& plan = result.layout_of(pick).plan;
  Facts facts;
  facts.entries.emplace_back("slots", fmt::format("{} over {} cells", human_plural(plan.rows->sequences, "slot"),
                                                  human_count(plan.arenas.front().usable_ids())));
  facts.entries.emplace_back("request", fmt::format("{} of {} tokens; {} at once",
                                                    human_bytes(pick.objectives.bytes_per_request),
                                                    human_count(result.at_length),
                                                    human_real(pick.objectives.concurrency)));
  facts.entries.emplace_back("prefix", prefix);
  add_states_found(facts, pick);
  facts.entries.emplace_back("host", fmt::format("{} for {} of {} a slot", human_bytes(plan.rows->host_bytes()),
                                                 human_plural(plan.rows->checkpoints, "checkpoint"),
                                                 human_bytes(plan.rows->checkpoint_bytes)));
  return facts;
}

/// Checkpoints take no memory of the device, so that no objective weighs them.
void add_slot_reasons(const RecommendAnswer& report, RecommendReasons& reasons) {
  add_at_once_reason(report, reasons);
  const Recommendation& result = report.result;
  if (!result.default_candidate) return;
  const std::int64_t host = result.layout_of(result.pick).plan.rows->host_bytes();
  const std::int64_t of_default = result.layout_of(*result.default_candidate).plan.rows->host_bytes();
  if (host == of_default) return;
  (host > of_default ? reasons.costs : reasons.gains)
      .push_back(fmt::format("{} of the host for all checkpoints instead of {}.", human_bytes(host),
                             human_bytes(of_default)));
}

Cell slots_cell(const CandidateRow& row) { return rows_in(row).sequences; }
Cell checkpoints_cell(const CandidateRow& row) { return rows_in(row).checkpoints; }
Cell step_cell(const CandidateRow& row) {
  return rows_in(row).checkpoints > 0 ? Cell(rows_in(row).checkpoint_step_tokens) : Cell();
}
Cell cells_cell(const CandidateRow& row) { return row.layout().plan.arenas.front().usable_ids(); }
Cell held_at_once_cell(const CandidateRow& row) { return Real{row.candidate().objectives.concurrency, 2}; }

std::vector<CandidateField> front_of_slots(const Recommendation&) {
  return {{{"slots", "slots"}, slots_cell},
          {{"ctx_checkpoints", "check-", "points"}, checkpoints_cell},
          {{"checkpoint_min_step", "step"}, step_cell},
          {{"cells", "cells"}, cells_cell},
          {{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
          {{"hit_rate", "hit", "rate"}, hit_percent_cell},
          {{"bytes_per_request", "request"}, request_cell},
          {{"concurrency", "at once"}, held_at_once_cell}};
}

std::vector<CandidateField> fields_of_slots() {
  return joined({{{{"slots", "slots"}, slots_cell},
                  {{"ctx_checkpoints", "checkpoints"}, checkpoints_cell},
                  {{"checkpoint_min_step", "step"}, step_cell},
                  {{"cells", "cells"}, cells_cell},
                  {{"host_bytes", "host"}, [](const CandidateRow& row) { return Cell(rows_in(row).host_bytes()); }},
                  {{"bytes_per_request", "request"},
                   [](const CandidateRow& row) { return Cell(row.candidate().objectives.bytes_per_request); }},
                  {{"concurrency", "concurrency"},
                   [](const CandidateRow& row) { return Cell(Real{row.candidate().objectives.concurrency, 6}); }}},
                 found_fields(),
                 state_fields(),
                 choice_fields()});
}

}  // namespace

const SearchReporter slot_search_reporter{.add_space = add_space_of_slots,
                                          .pick = picked_slots,
                                          .settings = settings_of_slots,
                                          .add_reasons = add_slot_reasons,
                                          .front = front_of_slots,
                                          .candidates = fields_of_slots,
                                          .search = whole_search_json,
                                          .at_once = "requests that slots and cells hold",
                                          .reference = "the default",
                                          .impossible = "Settings that cannot run",
                                          .combination = "combination"};

}  // namespace hybridkv
