#include "report/recommend_radix_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "report/human.h"
#include "report/json_text.h"
#include "report/recommend_json_parts.h"
#include "report/recommend_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

/// Value of one of a candidate's settings; empty where it has none, as strategies without a tree.
std::string value_of(const std::vector<EngineSetting>& settings, std::string_view key) {
  for (const EngineSetting& setting : settings)
    if (setting.key == key) return setting.value;
  return {};
}

/// "extra_buffer, ratio 0.93492, page 1, track interval 256".
std::string settings_text(const std::vector<EngineSetting>& settings) {
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

template <class Value>
std::string names_text(const std::vector<Value>& values) {
  std::vector<std::string_view> names;
  for (const Value value : values) names.push_back(to_string(value));
  return fmt::format("{}", fmt::join(names, ", "));
}

Facts radix_question_facts(const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  const RadixSpace& space = result.space;
  Facts facts = asked_facts(report, result);
  facts.entries.emplace_back("modes", names_text(space.modes));
  facts.entries.emplace_back("strategies", names_text(space.strategies));
  facts.entries.emplace_back(
      "ratios", space.ratios.empty() ? "the engine's own, the one at which most such requests run, a few around "
                                       "that, the largest that runs as many as a pick has to"
                                     : fmt::format("{}", fmt::join(space.ratios, ", ")));
  facts.entries.emplace_back("pages", human_list(space.page_sizes));
  facts.entries.emplace_back("intervals", human_list(space.track_intervals) + " tokens between states of a decode");
  const std::int64_t impossible = std::ssize(result.impossible);
  facts.entries.emplace_back(
      "search", fmt::format("exhaustive: {} planned, {} differ, {} cannot run; {} replayed",
                            human_plural(result.planned, "combination"),
                            human_count(result.planned - result.merged - impossible), human_count(impossible),
                            human_count(result.simulations)));
  return facts;
}

Facts radix_pick_facts(const RadixRecommendation& result, const RadixCandidate& pick,
                       const std::optional<LayoutBound>& bound) {
  const RadixPools& pools = *pick.plan.radix;
  Facts facts;
  facts.entries.emplace_back("pools", fmt::format("{} state slots, {} a request, and {} token slots",
                                                  human_count(pools.split.state_slots),
                                                  human_count(pools.split.slots_per_request),
                                                  human_count(pools.split.token_slots)));
  facts.entries.emplace_back(
      "request", fmt::format("{} of {} tokens; {} at once, {} run at most",
                             human_bytes(pick.objectives.bytes_per_request), human_count(result.at_length),
                             human_real(pick.objectives.concurrency), human_count(pools.split.max_running)));
  facts.entries.emplace_back("prefix", prefix_text(pick, bound));
  if (pick.stats.checkpoints_made > 0)
    facts.entries.emplace_back("states", fmt::format("{} made, {} of them hit, {} evicted",
                                                     human_count(pick.stats.checkpoints_made),
                                                     human_count(pick.stats.checkpoints_used),
                                                     human_count(pick.stats.checkpoints_evicted)));
  return facts;
}

struct RadixReasons {
  std::vector<std::string> gains, costs, choice, changes;
};

/// What the default loses, and what the pick costs against it.
void compare_with_default(const RadixRecommendReport& report, RadixReasons& reasons) {
  const RadixRecommendation& result = report.result;
  const RadixCandidate& pick = result.candidates[result.pick];
  if (!result.default_candidate) {
    reasons.gains.push_back(fmt::format("The default cannot run: {}.", result.default_refused->what()));
    return;
  }
  if (result.default_candidate == result.pick) {
    reasons.gains.push_back(
        "The default is the pick: nothing in the space is worth a change of settings by the rule below.");
    return;
  }
  const RadixCandidate& other = result.candidates[*result.default_candidate];
  compare_candidates(pick, other, result, reasons.gains, reasons.costs);
  const Objectives& a = pick.objectives;
  const Objectives& b = other.objectives;
  const std::string at_once = fmt::format("{} requests of {} tokens at once instead of {}.", human_real(a.concurrency),
                                          human_count(result.at_length), human_real(b.concurrency));
  // With other bytes a gain stands beside those already; a loss is one whatever a request takes.
  if (a.concurrency < b.concurrency) reasons.costs.push_back(at_once);
  else if (a.concurrency > b.concurrency && a.bytes_per_request == b.bytes_per_request)
    reasons.gains.push_back(at_once);
}

RadixReasons radix_reasons(const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  const RadixCandidate& pick = result.candidates[result.pick];
  RadixReasons reasons;
  compare_with_default(report, reasons);
  if (pick.plan.radix->strategy == RadixStrategy::no_buffer && pick.plan.cache_mode != CacheMode::none)
    reasons.costs.push_back("no_buffer keeps states only where chunks and requests end, and the engine then does not "
                            "overlap its steps.");
  if (pick.plan.radix->unified)
    reasons.costs.push_back("The elastic buffer is read, not run: figures are of the split it starts with.");
  const auto kept = std::count_if(result.front.begin(), result.front.end(), [&](std::size_t at) {
    return result.candidates[at].objectives.concurrency >= result.least_concurrency;
  });
  const std::optional<std::size_t>& reference = result.reference_candidate;
  reasons.choice = choice_sentences(
      report, result, kept,
      reference ? std::optional(result.candidates[*reference].objectives.concurrency) : std::nullopt,
      reference == result.default_candidate ? "the default" : "the default with its radix tree");
  for (const WhatIf& what_if : result.what_ifs)
    reasons.changes.push_back(
        what_if_sentence(what_if, result, what_if.pick ? settings_text(report.settings[*what_if.pick]) : ""));
  return reasons;
}

/// The front as a table; what all of the space have alike is no column of it.
class RadixFront {
 public:
  explicit RadixFront(const RadixRecommendReport& report)
      : report_(report),
        has_intervals_(report.result.space.track_intervals.size() > 1),
        table_(columns(has_intervals_)) {}

  void add(std::size_t at, const std::string& note) {
    const RadixCandidate& candidate = report_.result.candidates[at];
    const std::vector<EngineSetting>& settings = report_.settings[at];
    const bool keeps = candidate.plan.cache_mode != CacheMode::none;
    const Objectives& objectives = candidate.objectives;
    std::vector<Cell> row{keeps ? value_of(settings, "engine.mamba_radix_cache_strategy") : "no tree",
                          value_of(settings, "engine.state_memory_ratio"), candidate.plan.radix->page_tokens};
    if (has_intervals_) row.emplace_back(value_of(settings, "engine.mamba_track_interval"));
    for (const Cell& cell : std::initializer_list<Cell>{
             candidate.plan.radix->split.state_slots, objectives.reprefilled_tokens,
             Percent{100 * candidate.hit_rate()}, ByteCount{objectives.bytes_per_request},
             static_cast<std::int64_t>(objectives.concurrency), note})
      row.push_back(cell);
    table_.add_row(std::move(row));
    if (at == report_.result.pick) table_.mark_row(table_.rows().size() - 1);
  }

  Table take() { return std::move(table_); }

 private:
  static std::vector<Column> columns(bool has_intervals) {
    std::vector<Column> columns{{"strategy", "strategy", "", Align::left},
                                {"ratio", "ratio", "", Align::right},
                                {"page_tokens", "page"}};
    if (has_intervals) columns.push_back({"track_interval", "track", "every", Align::right});
    for (const Column& column : std::initializer_list<Column>{{"state_slots", "state", "slots"},
                                                              {"reprefilled_tokens", "computed", "again"},
                                                              {"hit_rate", "hit", "rate"},
                                                              {"bytes_per_request", "request"},
                                                              {"concurrency", "at", "once"},
                                                              {"note", "", "", Align::left}})
      columns.push_back(column);
    return columns;
  }

  const RadixRecommendReport& report_;
  bool has_intervals_;
  Table table_;
};

void add_radix_front(Document& document, const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  document.blocks.emplace_back(Heading{"Pareto front"});
  RadixFront front(report);
  const std::vector<std::size_t> shown = shown_of_front(result);
  for (const std::size_t at : shown) front.add(at, front_note(result, at));
  const RadixCandidate* beaten = result.default_candidate ? &result.candidates[*result.default_candidate] : nullptr;
  if (beaten != nullptr && beaten->on_front) beaten = nullptr;
  if (beaten != nullptr) front.add(*result.default_candidate, beaten_note(*beaten));
  document.blocks.emplace_back(front.take());
  document.blocks.emplace_back(Paragraph{front_sentences(result, beaten, shown.size(),
                                                         "requests that the engine runs")});
}

/// Combinations that cannot run, each reason once.
std::vector<std::string> impossible_settings(const RadixRecommendation& result) {
  std::vector<std::pair<const ImpossibleRadix*, std::int64_t>> reasons;
  for (const ImpossibleRadix& one : result.impossible) {
    const auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
      return reason.first->refusal.path() == one.refusal.path();
    });
    if (found == reasons.end()) reasons.emplace_back(&one, 1);
    else ++found->second;
  }
  std::vector<std::string> sentences;
  for (const auto& [first, count] : reasons)
    sentences.push_back(fmt::format("{}, the first: {}", human_plural(count, "combination"), first->refusal.what()));
  return sentences;
}

std::string recommend_radix_json(const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  const RadixReasons reasons = radix_reasons(report);
  ordered_json json = asked_json(report, result);
  ordered_json impossible = ordered_json::array();
  for (const ImpossibleRadix& one : result.impossible) impossible.push_back({{"reason", one.refusal.what()}});
  json["search"] = {{"kind", "exhaustive"},       {"exhaustive", true},
                    {"planned", result.planned},  {"merged", result.merged},
                    {"combinations", result.combinations}, {"simulations", result.simulations},
                    {"impossible", impossible}};
  add_picked_json(json, result);
  json["front"] = result.front;
  json["settings"] = settings_json(report.pick.settings);
  json["serve"] = serve_json(report.pick.serve);
  json["pick_bound"] = bound_json(report.pick_bound);
  json["reasons"] = {{"gains", reasons.gains},
                     {"costs", reasons.costs},
                     {"choice", reasons.choice},
                     {"changes", reasons.changes}};
  json["what_ifs"] = what_ifs_json(result);
  json["commands"] = report.commands;
  json["candidates"] = to_json(radix_candidates_table(report));
  return json_text(json);
}

}  // namespace

Document recommend_radix_pick(const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  const RadixReasons reasons = radix_reasons(report);
  Document document;
  document.blocks.emplace_back(Heading{
      fmt::format("Recommendation for {}, tensor parallel {}", report.model, report.engine.tensor_parallel), 1});
  document.blocks.emplace_back(radix_question_facts(report));
  document.blocks.emplace_back(Heading{"Pick"});
  document.blocks.emplace_back(radix_pick_facts(result, result.candidates[result.pick], report.pick_bound));
  add_served(document, report.pick, "SGLang");
  add_listing(document, "What it gains over the default", reasons.gains);
  add_listing(document, "What it costs", reasons.costs);
  add_listing(document, "How it was chosen", reasons.choice);
  add_listing(document, "Which assumption would change it", reasons.changes);
  return document;
}

Document recommend_radix_front(const RadixRecommendReport& report) {
  Document document;
  add_radix_front(document, report);
  add_listing(document, "Settings that cannot run", impossible_settings(report.result));
  return document;
}

Document recommend_radix_report(const RadixRecommendReport& report) {
  Document document = recommend_radix_pick(report);
  Document front = recommend_radix_front(report);
  std::move(front.blocks.begin(), front.blocks.end(), std::back_inserter(document.blocks));
  document.blocks.emplace_back(Heading{"The same numbers again"});
  document.blocks.emplace_back(Code{report.commands});
  return document;
}

Table radix_candidates_table(const RadixRecommendReport& report) {
  const RadixRecommendation& result = report.result;
  Table table({{"cache_mode", "mode"}, {"strategy", "strategy"}, {"state_memory_ratio", "ratio"},
               {"page_tokens", "page"}, {"track_interval", "track interval"}, {"state_slots", "state slots"},
               {"token_slots", "token slots"}, {"slots_per_request", "slots a request"},
               {"max_running", "running at most"}, {"bytes_per_request", "request"}, {"concurrency", "concurrency"},
               {"hit_tokens", "hit"}, {"hit_rate", "hit rate"}, {"reprefilled_tokens", "re-prefilled"},
               {"requests_with_hit", "requests with a hit"}, {"unserved_requests", "unserved"},
               {"states_made", "states made"}, {"states_used", "states used"}, {"evicted_states", "states evicted"},
               {"evicted_tokens", "tokens evicted"}, {"settings_changed", "settings changed"},
               {"in_space", "in the space"}, {"meets_limits", "meets limits"}, {"on_front", "on the front"},
               {"is_default", "default"}, {"is_pick", "pick"}});
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const RadixCandidate& candidate = result.candidates[i];
    const TokenStateSplit& split = candidate.plan.radix->split;
    const RadixStats& stats = candidate.stats;
    const std::vector<EngineSetting>& settings = report.settings[i];
    table.add_row({std::string(to_string(candidate.plan.cache_mode)),
                   value_of(settings, "engine.mamba_radix_cache_strategy"),
                   value_of(settings, "engine.state_memory_ratio"), candidate.plan.radix->page_tokens,
                   value_of(settings, "engine.mamba_track_interval"), split.state_slots, split.token_slots,
                   split.slots_per_request, split.max_running, candidate.objectives.bytes_per_request,
                   static_cast<std::int64_t>(candidate.objectives.concurrency), candidate.hit_tokens,
                   Real{candidate.hit_rate(), 6}, candidate.objectives.reprefilled_tokens,
                   candidate.requests_with_hit, candidate.unserved_requests, stats.checkpoints_made,
                   stats.checkpoints_used, stats.checkpoints_evicted, stats.evicted_tokens,
                   candidate.settings_changed, candidate.in_space, candidate.meets_limits, candidate.on_front,
                   result.default_candidate == i, result.pick == i});
  }
  return table;
}

std::string render_recommend_radix(const RadixRecommendReport& report, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(recommend_radix_report(report), style);
    case Format::json: return recommend_radix_json(report);
    case Format::csv: return render_csv(radix_candidates_table(report));
    case Format::markdown: return render_markdown(recommend_radix_report(report));
  }
  throw std::logic_error("unknown format");
}

}  // namespace hybridkv
