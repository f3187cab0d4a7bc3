#include "report/recommend_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/bytes_text.h"
#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/plan_table.h"
#include "report/recommend_json.h"
#include "report/recommend_text.h"
#include "report/replay_text.h"

namespace hybridkv {

namespace {

std::string retention_text(const Candidate& candidate) {
  if (!candidate.retention_tokens) return "all";
  return *candidate.retention_tokens == 0 ? "last" : human_count(*candidate.retention_tokens);
}

std::string floors_text(const SearchSpace& space) {
  std::vector<std::string> texts;
  for (const auto& floor : space.block_floors) texts.push_back(floor ? human_count(*floor) : "none");
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string modes_text(const SearchSpace& space) {
  std::vector<std::string> texts;
  for (const CacheMode mode : space.modes) texts.emplace_back(to_string(mode));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string retentions_text(const SearchSpace& space) {
  std::vector<std::string> texts;
  for (const auto& interval : space.retentions)
    texts.push_back(!interval       ? "every checkpoint"
                    : *interval == 0 ? "only the last"
                                     : human_count(*interval) + " tokens");
  for (const std::int64_t blocks : space.retention_blocks)
    texts.push_back(blocks == 1 ? "every block" : fmt::format("every {} blocks", blocks));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string match_units_text(const SearchSpace& space) {
  if (!space.match_units) return "the block, and every multiple of the smallest kernel block that divides it";
  std::vector<std::string> texts;
  for (const std::int64_t unit : *space.match_units) texts.push_back(unit == 0 ? "the block" : human_count(unit));
  return fmt::format("{}, where they divide the block", fmt::join(texts, ", "));
}

std::string search_text(const Recommendation& result) {
  const std::string simulated = fmt::format("{} of {} combinations simulated", human_count(result.simulations),
                                            human_count(result.combinations));
  switch (result.search) {
    case SearchKind::exhaustive:
      return fmt::format("exhaustive: {}", human_plural(result.simulations, "combination") + ", all simulated");
    case SearchKind::refined:
      return fmt::format("not exhaustive: {}; every layout with whole-block matches and the first retention, then "
                         "every match unit and retention interval of the layouts on the front and of the default",
                         simulated);
    case SearchKind::pruned:
      return fmt::format("not exhaustive: {}; the packs side by side, and of each mode the layouts that hold the {} "
                         "requests a pick has to hold and that no other beats in block, bytes and concurrency, with "
                         "whole-block matches and the first retention; then every match unit and retention interval "
                         "of the layouts on the front and of the default",
                         simulated, human_real(result.least_concurrency));
  }
  return "?";
}

Facts question_facts(const RecommendReport& report) {
  const Recommendation& result = report.result;
  Facts facts = asked_facts(report, result);
  facts.entries.emplace_back("packs", human_list(result.space.packs));
  facts.entries.emplace_back("block sizes", floors_text(result.space));
  facts.entries.emplace_back("modes", modes_text(result.space));
  facts.entries.emplace_back("match units", match_units_text(result.space));
  facts.entries.emplace_back("retention", retentions_text(result.space));
  const std::int64_t impossible = std::ssize(result.impossible);
  facts.entries.emplace_back(
      "layouts", fmt::format("{} planned, {} differ, {} cannot run", human_count(result.planned_layouts),
                             human_count(result.planned_layouts - result.merged_layouts - impossible),
                             human_count(impossible)));
  facts.entries.emplace_back("search", search_text(result));
  return facts;
}

Facts pick_facts(const Recommendation& result, const Candidate& pick,
                 const std::optional<LayoutBound>& bound = std::nullopt) {
  const PlannedLayout& layout = result.layout_of(pick);
  const CapacityPlan& capacity = result.capacity_of(pick);
  const SpecPlan* const attention = primary_attention(layout.plan);
  Facts facts;
  facts.entries.emplace_back("layout", fmt::format("{} a page, mode {}", human_plural(layout.pack, "attention layer"),
                                                   to_string(layout.mode)));
  std::string block = human_plural(block_tokens(layout), "token");
  if (attention != nullptr) block += fmt::format(", kernel block {}", human_count(attention->kernel_block_size_tokens));
  if (layout.plan.prefix.cacheable) block += fmt::format(", match unit {}", human_count(result.match_unit(pick)));
  facts.entries.emplace_back("block", block);
  facts.entries.emplace_back("request", fmt::format("{} block ids, {}; {} at once ({} as engines print it)",
                                                    human_count(capacity.blocks_per_request),
                                                    human_bytes(capacity.bytes_per_request),
                                                    human_real(capacity.usable_concurrency),
                                                    human_real(capacity.max_concurrency)));
  facts.entries.emplace_back("prefix", prefix_text(pick, bound));
  return facts;
}

Table front_table() {
  return Table({{"attention_pack_size", "N"},
                {"cache_mode", "mode", "", Align::left},
                {"user_block_size", "block", "set"},
                {"block_size_tokens", "block", "tokens"},
                {"match_unit_tokens", "match", "unit"},
                {"retention", "kept", "", Align::right},
                {"reprefilled_tokens", "computed", "again"},
                {"hit_rate", "hit", "rate"},
                {"bytes_per_request", "request"},
                {"concurrency", "at once"},
                {"note", "", "", Align::left}});
}

void add_to_front(Table& table, const Recommendation& result, const Candidate& candidate, const std::string& note) {
  const PlannedLayout& layout = result.layout_of(candidate);
  const bool caches = layout.plan.prefix.cacheable;
  table.add_row({layout.pack, std::string(to_string(layout.mode)), cell_of(layout.block_floor), block_tokens(layout),
                 caches ? Cell(result.match_unit(candidate)) : Cell(),
                 layout.geometry.depends_on_retention() ? retention_text(candidate) : "",
                 candidate.objectives.reprefilled_tokens, Percent{100 * candidate.hit_rate()},
                 ByteCount{candidate.objectives.bytes_per_request}, Real{candidate.objectives.concurrency}, note});
}

/// The positions of the front to show: all, or evenly spaced ones with both ends and the pick.
void add_front(Document& document, const RecommendReport& report) {
  const Recommendation& result = report.result;
  document.blocks.emplace_back(Heading{"Pareto front"});
  Table table = front_table();
  const std::vector<std::size_t> shown = shown_of_front(result);
  for (const std::size_t at : shown) {
    add_to_front(table, result, result.candidates[at], front_note(result, at));
    if (at == result.pick) table.mark_row(table.rows().size() - 1);
  }
  const Candidate* beaten = result.default_candidate ? &result.candidates[*result.default_candidate] : nullptr;
  if (beaten != nullptr && beaten->on_front) beaten = nullptr;
  if (beaten != nullptr) add_to_front(table, result, *beaten, beaten_note(*beaten));
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Paragraph{front_sentences(result, beaten, shown.size(),
                                                         "requests that fit, without the null block")});
}

void add_packs(Document& document, const RecommendReport& report, const RecommendReasons& reasons) {
  if (reasons.packs.empty()) return;
  const Recommendation& result = report.result;
  const CacheMode mode = result.layout_of(result.candidates[result.pick]).mode;
  document.blocks.emplace_back(Heading{fmt::format("Packs in mode {}, nothing else changed", to_string(mode))});
  Table table({{"attention_pack_size", "N"},
               {"block_size_tokens", "block", "tokens"},
               {"reprefilled_tokens", "computed", "again"},
               {"hit_rate", "hit", "rate"},
               {"bytes_per_request", "request"},
               {"concurrency", "at once"},
               {"blocks_per_request", "ids"},
               {"groups", "block", "tables"},
               {"beaten_by", "beaten by", "", Align::left}});
  for (const PlainPack& plain : report.plain_packs) {
    const Candidate& candidate = result.candidates[plain.candidate];
    const PlannedLayout& layout = result.layout_of(candidate);
    table.add_row({layout.pack, block_tokens(layout), candidate.objectives.reprefilled_tokens,
                   Percent{100 * candidate.hit_rate()}, ByteCount{candidate.objectives.bytes_per_request},
                   Real{candidate.objectives.concurrency}, result.capacity_of(candidate).blocks_per_request,
                   std::int64_t(layout.plan.groups.size()),
                   plain.beaten_by
                       ? fmt::format("N = {}", result.layout_of(result.candidates[*plain.beaten_by]).pack)
                       : ""});
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Listing{reasons.packs});
}

/// The best that engines run today beside a pick that needs packing.
void add_unpacked(Document& document, const RecommendReport& report, const RecommendReasons& reasons) {
  add_listing(document, "Best without packing (N = 1), for engines as they are released", reasons.unpacked);
  if (!report.result.unpacked_pick) return;
  const Candidate& candidate = report.result.candidates[*report.result.unpacked_pick];
  document.blocks.emplace_back(pick_facts(report.result, candidate));
  add_served(document, *report.unpacked_pick, "vLLM");
}

/// Combinations that cannot run, each reason once.
std::vector<std::string> impossible_sentences(const Recommendation& result) {
  std::vector<std::pair<const ImpossibleLayout*, std::int64_t>> reasons;
  for (const ImpossibleLayout& impossible : result.impossible) {
    // The numbers of a reason differ from layout to layout; the path of the value at fault does not.
    const auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
      return reason.first->refusal.path() == impossible.refusal.path();
    });
    if (found == reasons.end())
      reasons.emplace_back(&impossible, 1);
    else
      ++found->second;
  }
  std::vector<std::string> sentences;
  for (const auto& [first, count] : reasons)
    sentences.push_back(fmt::format("{}{}: {}", human_plural(count, "layout"),
                                    count == 1 ? "" : fmt::format(", the first with N = {}", first->pack),
                                    first->refusal.what()));
  return sentences;
}

}  // namespace

Document recommend_pick(const RecommendReport& report) {
  const RecommendReasons reasons = recommend_reasons(report);
  Document document;
  document.blocks.emplace_back(Heading{
      fmt::format("Recommendation for {}, tensor parallel {}", report.model, report.engine.tensor_parallel), 1});
  document.blocks.emplace_back(question_facts(report));
  if (!reasons.never_hits.empty()) document.blocks.emplace_back(Listing{reasons.never_hits, true});
  document.blocks.emplace_back(Heading{"Pick"});
  const Candidate& pick = report.result.candidates[report.result.pick];
  document.blocks.emplace_back(pick_facts(report.result, pick, report.pick_bound));
  if (!reasons.overload.empty()) document.blocks.emplace_back(Listing{reasons.overload, true});
  add_served(document, report.pick, "vLLM");
  add_listing(document, "What it gains over the default", reasons.gains);
  add_listing(document, "What it costs", reasons.costs);
  add_unpacked(document, report, reasons);
  add_listing(document, "How it was chosen", reasons.choice);
  add_listing(document, "Which assumption would change it", reasons.changes);
  return document;
}

Document recommend_front(const RecommendReport& report) {
  Document document;
  add_front(document, report);
  add_packs(document, report, recommend_reasons(report));
  add_listing(document, "Layouts that cannot run", impossible_sentences(report.result));
  return document;
}

Document recommend_report(const RecommendReport& report) {
  Document document = recommend_pick(report);
  Document front = recommend_front(report);
  std::move(front.blocks.begin(), front.blocks.end(), std::back_inserter(document.blocks));
  document.blocks.emplace_back(Heading{"The same numbers again"});
  document.blocks.emplace_back(Code{report.commands});
  if (report.result.unpacked_pick) {
    document.blocks.emplace_back(Heading{"Those without packing"});
    document.blocks.emplace_back(Code{report.unpacked_commands});
  }
  return document;
}

Table candidates_table(const RecommendReport& report) {
  const Recommendation& result = report.result;
  Table table({{"attention_pack_size", "N"}, {"cache_mode", "mode"}, {"user_block_size", "block size set"},
               {"block_size_tokens", "block"}, {"kernel_block_size_tokens", "kernel block"},
               {"match_unit_tokens", "match unit"}, {"retention_tokens", "retention"}, {"page_bytes", "page"},
               {"pools", "pools"}, {"groups", "groups"}, {"num_blocks", "blocks"},
               {"blocks_per_request", "ids"}, {"bytes_per_request", "request"},
               {"max_concurrency", "printed concurrency"}, {"usable_concurrency", "concurrency"},
               {"hit_tokens", "hit"}, {"hit_rate", "hit rate"}, {"reprefilled_tokens", "re-prefilled"},
               {"requests_with_hit", "requests with a hit"}, {"unserved_requests", "unserved"},
               {"preemptions", "preemptions"}, {"evictions", "evictions"}, {"copied_states", "copied states"},
               {"settings_changed", "settings changed"}, {"in_space", "in the space"}, {"meets_limits", "meets limits"},
               {"on_front", "on the front"}, {"is_default", "default"}, {"is_pick", "pick"},
               {"is_pick_without_packing", "pick without packing"}, {"overloaded", "overloaded"}});
  const bool open_loop = report.driver.kind == DriverKind::open_loop;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& candidate = result.candidates[i];
    const PlannedLayout& layout = result.layout_of(candidate);
    const CapacityPlan& capacity = result.capacity_of(candidate);
    const SpecPlan* const attention = primary_attention(layout.plan);
    const GroupPlan& group = primary_group(layout.plan);
    table.add_row({layout.pack, std::string(to_string(layout.mode)), cell_of(layout.block_floor), block_tokens(layout),
                   attention ? Cell(attention->kernel_block_size_tokens) : Cell(),
                   result.match_unit(candidate), cell_of(candidate.retention_tokens), layout.plan.page_bytes(group),
                   std::int64_t(layout.plan.pools.size()), std::int64_t(layout.plan.groups.size()),
                   layout.plan.arena_of(group).num_ids, capacity.blocks_per_request, capacity.bytes_per_request,
                   Real{capacity.max_concurrency, 6}, Real{capacity.usable_concurrency, 6}, candidate.hit_tokens,
                   Real{candidate.hit_rate(), 6}, candidate.objectives.reprefilled_tokens,
                   candidate.requests_with_hit, candidate.unserved_requests, candidate.preemptions,
                   candidate.evictions, candidate.copied_states, candidate.settings_changed, candidate.in_space,
                   candidate.meets_limits, candidate.on_front, result.default_candidate == i, result.pick == i,
                   result.unpacked_pick == i, open_loop ? Cell(candidate.overload.has_value()) : Cell()});
  }
  return table;
}

std::string render_recommend(const RecommendReport& report, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(recommend_report(report), style);
    case Format::json: return recommend_json(report);
    case Format::csv: return render_csv(candidates_table(report));
    case Format::markdown: return render_markdown(recommend_report(report));
  }
  throw std::logic_error("unknown format");
}

}  // namespace hybridkv
