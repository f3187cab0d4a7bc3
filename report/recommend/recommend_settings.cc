#include "report/recommend/recommend_settings.h"

#include <fmt/format.h>

#include "report/human.h"

namespace hybridkv {

using nlohmann::ordered_json;

std::string whole_search_text(const Recommendation& result) {
  const std::int64_t impossible = std::ssize(result.impossible);
  return fmt::format("exhaustive: {} planned, {} differ, {} cannot run; {} replayed",
                     human_plural(result.planned_layouts, "combination"),
                     human_count(result.planned_layouts - result.merged_layouts - impossible), human_count(impossible),
                     human_count(result.simulations));
}

ordered_json whole_search_json(const Recommendation& result) {
  ordered_json impossible = ordered_json::array();
  for (const ImpossibleLayout& one : result.impossible) impossible.push_back({{"reason", one.refusal.what()}});
  return {{"kind", to_string(result.search)},
          {"exhaustive", result.search == SearchKind::exhaustive},
          {"planned", result.planned_layouts},
          {"merged", result.merged_layouts},
          {"combinations", result.combinations},
          {"simulations", result.simulations},
          {"impossible", impossible}};
}

void add_states_found(Facts& facts, const Candidate& pick) {
  if (pick.checkpoints_made == 0) return;
  facts.entries.emplace_back("states", fmt::format("{} made, {} of them hit, {} evicted",
                                                   human_count(pick.checkpoints_made),
                                                   human_count(pick.checkpoints_used),
                                                   human_count(pick.checkpoints_evicted)));
}

void add_at_once_reason(const RecommendAnswer& report, RecommendReasons& reasons) {
  const Recommendation& result = report.result;
  if (!result.default_candidate || result.default_candidate == result.pick) return;
  const Objectives& a = report.picked().objectives;
  const Objectives& b = result.candidates[*result.default_candidate].objectives;
  const std::string at_once = fmt::format("{} requests of {} tokens at once instead of {}.",
                                          human_real(a.concurrency), human_count(result.at_length),
                                          human_real(b.concurrency));
  // With other bytes a gain stands beside those already; a loss is one whatever a request takes.
  if (a.concurrency < b.concurrency) reasons.costs.push_back(at_once);
  else if (a.concurrency > b.concurrency && a.bytes_per_request == b.bytes_per_request)
    reasons.gains.push_back(at_once);
}

std::string held_requests_text(const Recommendation& result, const Candidate& pick) {
  return fmt::format("{} of {} tokens; {} at once", human_bytes(pick.objectives.bytes_per_request),
                     human_count(result.at_length), human_real(pick.objectives.concurrency));
}

Cell request_bytes_cell(const CandidateRow& row) { return row.candidate().objectives.bytes_per_request; }

std::vector<CandidateField> held_fields() {
  return {{{"bytes_per_request", "request"}, request_bytes_cell},
          {{"concurrency", "concurrency"},
           [](const CandidateRow& row) { return Cell(Real{row.candidate().objectives.concurrency, 6}); }}};
}

std::vector<CandidateField> front_of_held() {
  return {{{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
          {{"hit_rate", "hit", "rate"}, hit_percent_cell},
          {{"bytes_per_request", "request"}, request_cell},
          {{"concurrency", "at once"},
           [](const CandidateRow& row) { return Cell(Real{row.candidate().objectives.concurrency, 2}); }}};
}

std::vector<CandidateField> state_fields() {
  return {of_candidate<&Candidate::checkpoints_made>({"states_made", "states made"}),
          of_candidate<&Candidate::checkpoints_used>({"states_used", "states used"}),
          of_candidate<&Candidate::checkpoints_evicted>({"evicted_states", "states evicted"})};
}

}  // namespace hybridkv
