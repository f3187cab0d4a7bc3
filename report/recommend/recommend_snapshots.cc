#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/human.h"
#include "report/recommend/recommend_settings.h"

namespace hybridkv {

namespace {

const CachePlan& groups_plan_in(const CandidateRow& row) { return row.layout().plan; }
const SnapshotPoints& points_in(const CandidateRow& row) { return groups_plan_in(row).pool_groups->points; }

std::string offsets_text(const std::vector<std::int64_t>& offsets) {
  return fmt::format("{}", fmt::join(offsets, " "));
}

std::string settings_of_snapshots(const RecommendAnswer& report, const Candidate& candidate) {
  const PlannedLayout& layout = report.result.layout_of(candidate);
  const SnapshotPoints& points = layout.plan.pool_groups->points;
  std::string text = fmt::format("snapshots: {}", to_string(snapshot_places(layout.engine)));
  if (points.interval_tokens > 0) text += fmt::format(", every {} tokens", human_count(points.interval_tokens));
  return text + fmt::format("; {} and {}", human_plural(layout.plan.arenas[1].num_ids, "state"),
                            human_plural(layout.plan.arenas[0].num_ids, "block"));
}

void add_space_of_snapshots(Facts& facts, const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const SearchSpace& space = result.space;
  std::vector<std::string_view> places;
  for (const SnapshotPlaces one : space.snapshots) places.push_back(to_string(one));
  facts.entries.emplace_back("snapshots", fmt::format("{}", fmt::join(places, ", ")));
  facts.entries.emplace_back("intervals",
                             fmt::format("{} tokens, 0: none", fmt::join(space.snapshot_intervals, ", ")));
  facts.entries.emplace_back(
      "shares", space.ratios.empty()
                    ? std::string("by the length of requests, half, twice and four times the memory of states over "
                                  "that of blocks")
                    : fmt::format("{} of memory of states over that of blocks", fmt::join(space.ratios, ", ")));
  facts.entries.emplace_back("search", whole_search_text(result));
}

Facts picked_snapshots(const Recommendation& result, const Candidate& pick, const std::string& prefix) {
  const CachePlan& plan = result.layout_of(pick).plan;
  Facts facts;
  facts.entries.emplace_back("pools", fmt::format("{} and {} of {} tokens",
                                                  human_plural(plan.arenas[1].num_ids, "state"),
                                                  human_plural(plan.arenas[0].num_ids, "block"),
                                                  tokens_per_block(result.layout_of(pick).engine)));
  facts.entries.emplace_back("request", held_requests_text(result, pick));
  facts.entries.emplace_back("prefix", prefix);
  add_states_found(facts, pick);
  return facts;
}

Cell places_cell(const CandidateRow& row) { return std::string(to_string(snapshot_places(row.layout().engine))); }
Cell from_end_cell(const CandidateRow& row) { return offsets_text(points_in(row).from_end); }
Cell snapshot_interval_cell(const CandidateRow& row) { return points_in(row).interval_tokens; }
Cell shares_cell(const CandidateRow& row) {
  const std::optional<double> ratio = row.layout().engine.state_memory_ratio;
  return ratio ? Cell(Real{*ratio, 4}) : Cell();
}
Cell states_cell(const CandidateRow& row) { return groups_plan_in(row).arenas[1].num_ids; }
Cell blocks_cell(const CandidateRow& row) { return groups_plan_in(row).arenas[0].num_ids; }

std::vector<CandidateField> front_of_snapshots(const Recommendation&) {
  return joined({{{{"snapshots", "snapshots"}, places_cell},
                  {{"periodic_snapshot_interval", "inter-", "val"}, snapshot_interval_cell},
                  {{"states", "states"}, states_cell},
                  {{"blocks", "blocks"}, blocks_cell}},
                 front_of_held()});
}

std::vector<CandidateField> fields_of_snapshots() {
  return joined({{{{"snapshots", "snapshots"}, places_cell},
                  {{"offsets_from_end", "before the end"}, from_end_cell},
                  {{"periodic_snapshot_interval", "interval"}, snapshot_interval_cell},
                  {{"state_memory_ratio", "ratio"}, shares_cell},
                  {{"states", "states"}, states_cell},
                  {{"blocks", "blocks"}, blocks_cell}},
                 held_fields(),
                 found_fields(),
                 state_fields(),
                 choice_fields()});
}

}  // namespace

const SearchReporter snapshot_search_reporter{.add_space = add_space_of_snapshots,
                                              .pick = picked_snapshots,
                                              .settings = settings_of_snapshots,
                                              .add_reasons = add_at_once_reason,
                                              .front = front_of_snapshots,
                                              .candidates = fields_of_snapshots,
                                              .search = whole_search_json,
                                              .at_once = "requests that states and blocks hold",
                                              .reference = "the default",
                                              .impossible = "Settings that cannot run",
                                              .combination = "combination"};

}  // namespace hybridkv
