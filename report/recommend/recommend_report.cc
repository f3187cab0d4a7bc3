#include "report/recommend/recommend_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "report/human.h"
#include "report/plan/kernel_text.h"
#include "report/recommend/recommend_json.h"
#include "report/recommend/recommend_text.h"
#include "report/recommend/search_reporter.h"
#include "report/replay/loss_report.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

/// What the default loses, and what the pick costs against it.
void compare_with_default(const RecommendAnswer& report, RecommendReasons& reasons) {
  const Recommendation& result = report.result;
  if (!result.default_candidate)
    reasons.gains.push_back(fmt::format("The default cannot run: {}.", result.default_refused->what()));
  else if (result.default_candidate == result.pick)
    reasons.gains.push_back(
        "The default is the pick: nothing in the space is worth a change of settings by the rule below.");
  else
    compare_candidates(report.picked(), result.candidates[*result.default_candidate], result, reasons.gains,
                       reasons.costs);
}

/// Were layouts held against kernels?
bool is_judged(const Recommendation& result) { return !result.layouts.front().plan.kernels.empty(); }

/// The worst verdict on the layout of a candidate.
CandidateField kernels_field(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return worst_verdict_cell(row.layout().plan.kernels); }};
}

/// What of a layout that would be picked, or is, speaks against it; begins with a blank.
std::string kernels_text(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  if (harms_kernel(report.pick_kernels()))
    return fmt::format(" Nothing that may be picked suits all kernels: {}.",
                       kernel_headline(*worst_fit(report.pick_kernels())));
  if (!result.heedless_pick) return {};
  const Candidate& heedless = result.candidates[*result.heedless_pick];
  return fmt::format(" Without the kernels it would be {}: {}.", reporter_of(result).settings(report, heedless),
                     kernel_headline(*worst_fit(result.layout_of(heedless).plan.kernels)));
}

void add_front(Document& document, const RecommendAnswer& report, const SearchReporter& reporter) {
  const Recommendation& result = report.result;
  document.blocks.emplace_back(Heading{"Pareto front"});
  const std::vector<std::size_t> shown = shown_of_front(result);
  std::vector<CandidateRow> rows;
  for (const std::size_t at : shown) rows.push_back({report, at});
  const Candidate* beaten = result.default_candidate ? &result.candidates[*result.default_candidate] : nullptr;
  if (beaten != nullptr && beaten->on_front) beaten = nullptr;
  if (beaten != nullptr) rows.push_back({report, *result.default_candidate});
  const std::optional<std::size_t>& heedless = result.heedless_pick;
  if (heedless && heedless != result.default_candidate) rows.push_back({report, *heedless});
  std::vector<CandidateField> fields = reporter.front(result);
  fields.push_back({{"note", "", "", Align::left}, [&](const CandidateRow& row) {
                      return Cell(&row.candidate() == beaten ? beaten_note(*beaten) : front_note(result, row.at));
                    }});
  Table table = table_of(fields, rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].at == result.pick) table.mark_row(i);
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Paragraph{front_sentences(result, beaten, shown.size(), reporter.at_once)});
}

/// The best that engines run today beside a pick that needs packing.
void add_unpacked(Document& document, const RecommendAnswer& report, const RecommendReasons& reasons) {
  add_listing(document, "Best without packing (N = 1), for engines as they are released", reasons.unpacked);
  const Recommendation& result = report.result;
  if (!result.unpacked_pick) return;
  const Candidate& candidate = result.candidates[*result.unpacked_pick];
  document.blocks.emplace_back(reporter_of(result).pick(result, candidate, prefix_text(candidate, std::nullopt)));
  add_served(document, *report.unpacked_pick);
}

/// What packs would bring that only an emitted builder makes.
std::vector<std::string> builder_sentences(const RecommendAnswer& report) {
  if (!report.builder) return {};
  const BuilderOffer& offer = *report.builder;
  std::vector<std::int64_t> all{1};
  all.insert(all.end(), offer.packs.begin(), offer.packs.end());
  const std::string weighed = fmt::format("--packs {} weighs these with every block, mode and retention",
                                          fmt::join(all, ","));
  const std::string needs = fmt::format("no release makes them by itself: they need the emitted builder "
                                        "(`hybridkv emit {}`)", offer.builder);
  if (!offer.is_better)
    return {fmt::format("Of N = {} none would be picked in this mode; {}. {}.", human_list(offer.packs), needs,
                        weighed)};
  const Candidate &other = offer.picked(), &pick = report.picked();
  return {fmt::format("N = {}, block {}, match unit {} ({}) would be picked: {} of the prompt tokens hit instead of "
                      "{}, and {} requests run at once instead of {}. Packs are an offer, not the pick, as {}. {}.",
                      offer.layout().pack(), human_count(block_tokens(offer.layout())),
                      human_count(offer.result.match_unit(other)), to_string(offer.evidence),
                      human_percent(100 * other.hit_rate()), human_percent(100 * pick.hit_rate()),
                      human_real(other.objectives.concurrency), human_real(pick.objectives.concurrency), needs,
                      weighed)};
}

/// Combinations that cannot run, each reason once.
std::vector<std::string> impossible_sentences(const Recommendation& result, const SearchReporter& reporter) {
  std::vector<std::pair<const ImpossibleLayout*, std::int64_t>> reasons;
  for (const ImpossibleLayout& impossible : result.impossible) {
    // The numbers of a reason differ from layout to layout; the path of the value at fault does not.
    const auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
      return reason.first->refusal.path() == impossible.refusal.path();
    });
    if (found == reasons.end()) reasons.emplace_back(&impossible, 1);
    else ++found->second;
  }
  std::vector<std::string> sentences;
  for (const auto& [first, count] : reasons) {
    std::string text = human_plural(count, reporter.combination);
    if (count > 1) text += ", the first";
    if (count > 1 && !result.space.packs.empty())
      text += fmt::format(" with N = {}", first->engine.attention_pack_size);
    sentences.push_back(fmt::format("{}: {}", text, first->refusal.what()));
  }
  return sentences;
}

template <auto Member>
CandidateField optional_of_result(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return Cell(row.result().*Member == row.at); }};
}

}  // namespace

const SearchReporter& reporter_of(const Recommendation& result) {
  const CachePlan& plan = result.layouts.front().plan;
  if (plan.pool_groups) return snapshot_search_reporter;
  return plan.tree_pools ? tree_search_reporter : plan.rows ? slot_search_reporter : block_search_reporter;
}

std::vector<CandidateField> joined(std::vector<std::vector<CandidateField>> parts) {
  std::vector<CandidateField> fields;
  for (std::vector<CandidateField>& part : parts) std::move(part.begin(), part.end(), std::back_inserter(fields));
  return fields;
}

Cell reprefilled_cell(const CandidateRow& row) { return row.candidate().objectives.reprefilled_tokens; }
Cell hit_percent_cell(const CandidateRow& row) { return Percent{100 * row.candidate().hit_rate()}; }
Cell request_cell(const CandidateRow& row) { return ByteCount{row.candidate().objectives.bytes_per_request}; }

std::vector<CandidateField> found_fields() {
  return {of_candidate<&Candidate::hit_tokens>({"hit_tokens", "hit"}),
          {{"hit_rate", "hit rate"}, [](const CandidateRow& row) { return Cell(Real{row.candidate().hit_rate(), 6}); }},
          {{"reprefilled_tokens", "re-prefilled"}, reprefilled_cell},
          of_candidate<&Candidate::requests_with_hit>({"requests_with_hit", "requests with a hit"}),
          {{"unserved_requests", "unserved"},
           [](const CandidateRow& row) { return Cell(row.candidate().unserved()); }}};
}

std::vector<CandidateField> choice_fields() {
  return {of_candidate<&Candidate::settings_changed>({"settings_changed", "settings changed"}),
          of_candidate<&Candidate::in_space>({"in_space", "in the space"}),
          of_candidate<&Candidate::meets_limits>({"meets_limits", "meets limits"}),
          of_candidate<&Candidate::on_front>({"on_front", "on the front"}),
          optional_of_result<&Recommendation::default_candidate>({"is_default", "default"}),
          optional_of_result<&Recommendation::pick>({"is_pick", "pick"})};
}

RecommendReasons recommend_reasons(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const SearchReporter& reporter = reporter_of(result);
  const Candidate& pick = report.picked();
  RecommendReasons reasons;
  if (pick.overload)
    reasons.overload.push_back(fmt::format("The pick is overloaded: {}; its hits are those of an engine that falls "
                                           "behind.", overload_text(*pick.overload)));
  compare_with_default(report, reasons);
  reporter.add_reasons(report, reasons);
  if (report.pick_losses) reasons.costs.push_back(loss_sentence("The pick", *report.pick_losses) + ".");
  if (!pick.modelled.empty()) reasons.costs.push_back(modelled_sentence(pick.modelled));
  reasons.choice = choice_sentences(report, reporter.reference);
  for (const WhatIf& what_if : result.what_ifs) {
    std::string settings;
    if (what_if.pick) {
      const Candidate& picked = result.candidates[*what_if.pick];
      settings = reporter.settings(report, picked) + (picked.harms_kernel ? ", which harms a kernel" : "");
    }
    reasons.changes.push_back(what_if_sentence(what_if, result, settings));
  }
  return reasons;
}

std::string pick_verdict(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const Candidate& pick = report.picked();
  const Candidate* const usual = result.default_candidate ? &result.candidates[*result.default_candidate] : nullptr;
  const std::string settings = reporter_of(result).settings(report, pick);
  const auto numbers = [&](const Candidate& candidate) {
    return std::pair(human_percent(100 * candidate.hit_rate()), human_real(candidate.objectives.concurrency));
  };
  const auto [hit, at_once] = numbers(pick);
  const std::string against = kernels_text(report);
  const std::string why = fmt::format("{} of the prompt tokens hit and {} requests of {} tokens run at once", hit,
                                      at_once, human_count(result.at_length));
  if (usual == &pick)
    return fmt::format("Keep the default, {}, because no change of settings is worth it: {}.", settings, why) + against;
  // What no run of an engine covers is said before anybody takes it.
  const std::string known =
      report.pick_evidence == Evidence::run ? "" : fmt::format(" ({})", to_string(report.pick_evidence));
  const std::string text = fmt::format("Take {}{}, because {}", settings, known, why);
  if (usual == nullptr) return text + "; the default cannot run." + against;
  const auto [usual_hit, usual_at_once] = numbers(*usual);
  return text + fmt::format("; with the default, {}, they are {} and {}.", reporter_of(result).settings(report, *usual),
                            usual_hit, usual_at_once) + against;
}

Document recommend_pick(const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  const SearchReporter& reporter = reporter_of(result);
  const RecommendReasons reasons = recommend_reasons(report);
  Document document;
  Facts asked = asked_facts(report);
  reporter.add_space(asked, report);
  document.blocks.emplace_back(std::move(asked));
  if (!reasons.never_hits.empty()) document.blocks.emplace_back(Listing{reasons.never_hits, true});
  document.blocks.emplace_back(Heading{"Pick"});
  document.blocks.emplace_back(
      reporter.pick(result, report.picked(), prefix_text(report.picked(), report.pick_bound)));
  if (!reasons.overload.empty()) document.blocks.emplace_back(Listing{reasons.overload, true});
  if (is_judged(result)) {
    document.blocks.emplace_back(Heading{"What it does to the kernels", 3});
    add_kernels(document, report.pick_kernels());
  }
  add_served(document, report.pick);
  add_listing(document, "What it gains over the default", reasons.gains);
  add_listing(document, "What it costs", reasons.costs);
  add_unpacked(document, report, reasons);
  add_listing(document, "What the emitted builder would add", builder_sentences(report));
  add_listing(document, "How it was chosen", reasons.choice);
  add_listing(document, "Which assumption would change it", reasons.changes);
  return document;
}

Document recommend_front(const RecommendAnswer& report) {
  const SearchReporter& reporter = reporter_of(report.result);
  Document document;
  add_front(document, report, reporter);
  if (reporter.add_beside) reporter.add_beside(document, report, recommend_reasons(report));
  add_listing(document, reporter.impossible, impossible_sentences(report.result, reporter));
  return document;
}

Document recommend_report(const RecommendAnswer& report) {
  Document document;
  document.blocks.emplace_back(Heading{
      fmt::format("Recommendation for {}, tensor parallel {}", report.model, report.engine.tensor_parallel), 1});
  document.blocks.emplace_back(Paragraph{pick_verdict(report)});
  for (Document part : {recommend_pick(report), recommend_front(report)})
    std::move(part.blocks.begin(), part.blocks.end(), std::back_inserter(document.blocks));
  const std::optional<ServedPick>& unpacked = report.unpacked_pick;
  add_recipes(document, unpacked ? unpacked->serve.recipes : report.pick.serve.recipes);
  document.blocks.emplace_back(Heading{"The same numbers again"});
  document.blocks.emplace_back(Code{report.commands});
  if (report.result.unpacked_pick) {
    document.blocks.emplace_back(Heading{"Those without packing"});
    document.blocks.emplace_back(Code{report.unpacked_commands});
  }
  return document;
}

Table candidates_table(const RecommendAnswer& report) {
  std::vector<CandidateRow> rows;
  for (std::size_t at = 0; at < report.result.candidates.size(); ++at) rows.push_back({report, at});
  std::vector<CandidateField> fields = reporter_of(report.result).candidates();
  if (is_judged(report.result)) {
    fields.push_back(kernels_field({"kernels", "kernels"}));
    fields.push_back({{"kernel_harm", "kernel harm"},
                      [](const CandidateRow& row) { return kernel_harms_cell(row.layout().plan.kernels); }});
    fields.push_back(of_candidate<&Candidate::passed_over>({"passed_over", "passed over"}));
  }
  return table_of(fields, rows);
}

std::string render_recommend(const RecommendAnswer& report, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(recommend_report(report), style);
    case Format::json: return recommend_json(report);
    case Format::csv: return render_csv(candidates_table(report));
    case Format::markdown: return render_markdown(recommend_report(report));
  }
  throw std::logic_error("unknown format");
}

}  // namespace hybridkv
