#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/human.h"
#include "report/recommend/recommend_settings.h"

namespace hybridkv {

namespace {

/// Value of one of a candidate's settings; empty where it has none, as strategies without a tree.
std::string value_of(const std::vector<EngineSetting>& settings, std::string_view key) {
  for (const EngineSetting& setting : settings)
    if (setting.key == key) return setting.value;
  return {};
}

std::vector<EngineSetting> settings_in(const CandidateRow& row) { return settings_of(row.layout(), row.candidate()); }

/// "extra_buffer, ratio 0.93492, page 1, track interval 256".
std::string settings_of_tree(const RecommendAnswer& report, const Candidate& candidate) {
  const std::vector<EngineSetting> settings = settings_of(report.result.layout_of(candidate), candidate);
  constexpr std::pair<const char*, const char*> words[] = {{"engine.mamba_radix_cache_strategy", ""},
                                                           {"engine.max_mamba_cache_size", "state slots "},
                                                           {"engine.state_memory_ratio", "ratio "},
                                                           {"engine.page_size", "page "},
                                                           {"engine.mamba_track_interval", "track interval "}};
  std::string text = value_of(settings, "engine.cache_mode") == "none" ? "no radix tree" : "";
  for (const auto& [key, word] : words)
    if (const std::string value = value_of(settings, key); !value.empty())
      text += (text.empty() ? "" : ", ") + std::string(word) + value;
  return text;
}

void add_space_of_tree(Facts& facts, const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const SearchSpace& space = result.space;
  facts.entries.emplace_back("modes", names_text(space.modes));
  facts.entries.emplace_back("strategies", names_text(space.strategies));
  facts.entries.emplace_back(
      "ratios", space.ratios.empty() ? "the engine's own, the one at which most such requests run, a few around "
                                       "that, the largest that runs as many as a pick has to"
                                     : fmt::format("{}", fmt::join(space.ratios, ", ")));
  facts.entries.emplace_back("pages", human_list(space.page_sizes));
  facts.entries.emplace_back("intervals", human_list(space.track_intervals) + " tokens between states of a decode");
  facts.entries.emplace_back("search", whole_search_text(result));
}

Facts picked_tree(const Recommendation& result, const Candidate& pick, const std::string& prefix) {
  const TokenStateSplit& split = result.layout_of(pick).plan.tree_pools->split;
  Facts facts;
  facts.entries.emplace_back("pools", fmt::format("{} state slots, {} a request, and {} token slots",
                                                  human_count(split.state_slots),
                                                  human_count(split.state_slots_per_request),
                                                  human_count(split.token_slots)));
  facts.entries.emplace_back("request", fmt::format("{}, {} run at most", held_requests_text(result, pick),
                                                    human_count(split.max_running)));
  facts.entries.emplace_back("prefix", prefix);
  add_states_found(facts, pick);
  return facts;
}

void add_tree_reasons(const RecommendAnswer& report, RecommendReasons& reasons) {
  add_at_once_reason(report, reasons);
  const CachePlan& plan = report.result.layout_of(report.picked()).plan;
  if (plan.tree_pools->strategy == TreeStrategy::no_buffer && plan.cache_mode != CacheMode::none)
    reasons.costs.push_back("no_buffer keeps states only where chunks and requests end, and the engine then does not "
                            "overlap its steps.");
  if (plan.tree_pools->unified)
    reasons.costs.push_back("The elastic buffer is read, not run: figures are of the split it starts with.");
}

const TreePools& pools_in(const CandidateRow& row) { return *row.layout().plan.tree_pools; }

template <auto Member>
CandidateField of_split(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return Cell(pools_in(row).split.*Member); }};
}

// Cells that both tables have.
Cell strategy_cell(const CandidateRow& row) {
  return value_of(settings_in(row), "engine.mamba_radix_cache_strategy");
}
Cell ratio_cell(const CandidateRow& row) { return value_of(settings_in(row), "engine.state_memory_ratio"); }
Cell page_size_cell(const CandidateRow& row) { return pools_in(row).page_tokens; }
Cell interval_cell(const CandidateRow& row) { return value_of(settings_in(row), "engine.mamba_track_interval"); }
Cell running_cell(const CandidateRow& row) {
  return static_cast<std::int64_t>(row.candidate().objectives.concurrency);
}
Cell strategy_or_none_cell(const CandidateRow& row) {
  return row.layout().mode() == CacheMode::none ? Cell(std::string("no tree")) : strategy_cell(row);
}
Cell tree_mode_cell(const CandidateRow& row) { return std::string(to_string(row.layout().mode())); }

/// What all of the space have alike is no column.
std::vector<CandidateField> front_of_tree(const Recommendation& result) {
  std::vector<CandidateField> intervals;
  if (result.space.track_intervals.size() > 1)
    intervals = {{{"track_interval", "track", "every", Align::right}, interval_cell}};
  return joined({{{{"strategy", "strategy", "", Align::left}, strategy_or_none_cell},
                  {{"ratio", "ratio", "", Align::right}, ratio_cell},
                  {{"page_tokens", "page"}, page_size_cell}},
                 intervals,
                 {of_split<&TokenStateSplit::state_slots>({"state_slots", "state", "slots"}),
                  {{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
                  {{"hit_rate", "hit", "rate"}, hit_percent_cell},
                  {{"bytes_per_request", "request"}, request_cell},
                  {{"concurrency", "at", "once"}, running_cell}}});
}

std::vector<CandidateField> fields_of_tree() {
  return joined({{{{"cache_mode", "mode"}, tree_mode_cell},
                  {{"strategy", "strategy"}, strategy_cell},
                  {{"state_memory_ratio", "ratio"}, ratio_cell},
                  {{"page_tokens", "page"}, page_size_cell},
                  {{"track_interval", "track interval"}, interval_cell},
                  of_split<&TokenStateSplit::state_slots>({"state_slots", "state slots"}),
                  of_split<&TokenStateSplit::token_slots>({"token_slots", "token slots"}),
                  of_split<&TokenStateSplit::state_slots_per_request>({"slots_per_request", "slots a request"}),
                  of_split<&TokenStateSplit::max_running>({"max_running", "running at most"}),
                  {{"bytes_per_request", "request"}, request_bytes_cell},
                  {{"concurrency", "concurrency"}, running_cell}},
                 found_fields(),
                 state_fields(),
                 {of_candidate<&Candidate::evictions>({"evicted_tokens", "tokens evicted"})},
                 choice_fields()});
}

}  // namespace

const SearchReporter tree_search_reporter{.add_space = add_space_of_tree,
                                          .pick = picked_tree,
                                          .settings = settings_of_tree,
                                          .add_reasons = add_tree_reasons,
                                          .front = front_of_tree,
                                          .candidates = fields_of_tree,
                                          .search = whole_search_json,
                                          .at_once = "requests that the engine runs",
                                          .reference = "the default with its radix tree",
                                          .impossible = "Settings that cannot run",
                                          .combination = "combination"};

}  // namespace hybridkv
