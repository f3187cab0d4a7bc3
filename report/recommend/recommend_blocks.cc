#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/plan/plan_table.h"
#include "report/recommend/recommend_block_reasons.h"
#include "report/recommend/recommend_text.h"
#include "report/recommend/search_reporter.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

std::string retention_text(const Candidate& candidate) {
  if (!candidate.retention_tokens) return "all";
  return *candidate.retention_tokens == 0 ? "last" : human_count(*candidate.retention_tokens);
}

/// The packs that were searched, with the way to more where only those of releases were.
std::string packs_text(const RecommendAnswer& report) {
  const std::string packs = human_list(report.result.space.packs);
  if (!report.packs_as_released) return packs;
  if (!report.engine.rules->builder.empty())
    return packs + ", as the release makes by itself; --packs 1..6 also searches what the emitted builder makes";
  return packs + ", as in every release; --packs 1..6 also searches what PR 35703 adds";
}

std::string floors_text(const SearchSpace& space) {
  std::vector<std::string> texts;
  for (const auto& floor : space.block_floors) texts.push_back(floor ? human_count(*floor) : "none");
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

void add_space_of_blocks(Facts& facts, const RecommendAnswer& report) {
  const Recommendation& result = report.result;
  facts.entries.emplace_back("packs", packs_text(report));
  facts.entries.emplace_back("block sizes", floors_text(result.space));
  facts.entries.emplace_back("modes", names_text(result.space.modes));
  facts.entries.emplace_back("match units", match_units_text(result.space));
  facts.entries.emplace_back("retention", retentions_text(result.space));
  const std::int64_t impossible = std::ssize(result.impossible);
  facts.entries.emplace_back(
      "layouts", fmt::format("{} planned, {} differ, {} cannot run", human_count(result.planned_layouts),
                             human_count(result.planned_layouts - result.merged_layouts - impossible),
                             human_count(impossible)));
  facts.entries.emplace_back("search", search_text(result));
}

Facts picked_blocks(const Recommendation& result, const Candidate& pick, const std::string& prefix) {
  const PlannedLayout& layout = result.layout_of(pick);
  const CapacityPlan& capacity = result.capacity_of(pick);
  const SpecPlan* const attention = primary_attention(layout.plan);
  Facts facts;
  const std::string packed =
      attention != nullptr ? human_plural(layout.pack(), "attention layer") + " a page, " : std::string();
  facts.entries.emplace_back("layout", fmt::format("{}mode {}", packed, to_string(layout.mode())));
  std::string block = human_plural(block_tokens(layout), "token");
  if (attention != nullptr) block += fmt::format(", kernel block {}", human_count(attention->kernel_block_size_tokens));
  if (layout.plan.prefix.cacheable) block += fmt::format(", match unit {}", human_count(result.match_unit(pick)));
  facts.entries.emplace_back("block", block);
  facts.entries.emplace_back("request", fmt::format("{} block ids, {}; {} at once ({} as engines print it)",
                                                    human_count(capacity.blocks_per_request),
                                                    human_bytes(capacity.bytes_per_request),
                                                    human_real(capacity.usable_concurrency),
                                                    human_real(capacity.max_concurrency)));
  facts.entries.emplace_back("prefix", prefix);
  return facts;
}

const CapacityPlan& capacity_in(const CandidateRow& row) { return row.result().capacity_of(row.candidate()); }
const CachePlan& plan_in(const CandidateRow& row) { return row.layout().plan; }

template <auto Member>
CandidateField of_capacity(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return Cell(capacity_in(row).*Member); }};
}
template <auto Member>
CandidateField real_of_capacity(Column column) {
  return {std::move(column), [](const CandidateRow& row) { return Cell(Real{capacity_in(row).*Member, 6}); }};
}

// Cells that several tables have.
Cell pack_cell(const CandidateRow& row) { return row.layout().pack(); }
Cell mode_cell(const CandidateRow& row) { return std::string(to_string(row.layout().mode())); }
Cell floor_cell(const CandidateRow& row) { return cell_of(row.layout().block_floor()); }
Cell block_cell(const CandidateRow& row) { return block_tokens(row.layout()); }
Cell groups_cell(const CandidateRow& row) { return std::ssize(plan_in(row).groups); }
Cell concurrency_cell(const CandidateRow& row) { return Real{row.candidate().objectives.concurrency}; }

Cell kernel_block_cell(const CandidateRow& row) {
  return primary_spec(plan_in(row)).kernel_block_size_tokens;
}
Cell unit_cell(const CandidateRow& row) { return row.result().match_unit(row.candidate()); }
Cell unit_if_any_cell(const CandidateRow& row) { return plan_in(row).prefix.cacheable ? unit_cell(row) : Cell(); }
Cell retention_cell(const CandidateRow& row) {
  return row.layout().geometry().depends_on_retention() ? retention_text(row.candidate()) : std::string();
}
Cell retention_tokens_cell(const CandidateRow& row) { return cell_of(row.candidate().retention_tokens); }
Cell page_cell(const CandidateRow& row) { return plan_in(row).page_bytes(primary_group(plan_in(row))); }
Cell pools_cell(const CandidateRow& row) { return std::ssize(plan_in(row).pools); }
Cell ids_cell(const CandidateRow& row) { return plan_in(row).arena_of(primary_group(plan_in(row))).num_ids; }
/// Pre: the candidate is one of the packs side by side.
Cell beaten_by_cell(const CandidateRow& row) {
  const std::vector<PlainPack>& packs = row.report.plain_packs;
  const auto pack =
      std::find_if(packs.begin(), packs.end(), [&](const PlainPack& one) { return one.candidate == row.at; });
  return pack->beaten_by ? fmt::format("N = {}", row.result().layout_of(*pack->beaten_by).pack()) : std::string();
}
Cell unpacked_cell(const CandidateRow& row) { return row.result().unpacked_pick == row.at; }
Cell overloaded_cell(const CandidateRow& row) {
  const bool open_loop = row.report.driver.kind == DriverKind::open_loop;
  return open_loop ? Cell(row.candidate().overload.has_value()) : Cell();
}

std::vector<CandidateField> front_of_blocks(const Recommendation&) {
  return {{{"attention_pack_size", "N"}, pack_cell},
          {{"cache_mode", "mode", "", Align::left}, mode_cell},
          {{"user_block_size", "block", "set"}, floor_cell},
          {{"block_size_tokens", "block", "tokens"}, block_cell},
          {{"match_unit_tokens", "match", "unit"}, unit_if_any_cell},
          {{"retention", "kept", "", Align::right}, retention_cell},
          {{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
          {{"hit_rate", "hit", "rate"}, hit_percent_cell},
          {{"bytes_per_request", "request"}, request_cell},
          {{"concurrency", "at once"}, concurrency_cell}};
}

/// Packs side by side.
std::vector<CandidateField> pack_fields() {
  return {{{"attention_pack_size", "N"}, pack_cell},
          {{"block_size_tokens", "block", "tokens"}, block_cell},
          {{"reprefilled_tokens", "computed", "again"}, reprefilled_cell},
          {{"hit_rate", "hit", "rate"}, hit_percent_cell},
          {{"bytes_per_request", "request"}, request_cell},
          {{"concurrency", "at once"}, concurrency_cell},
          of_capacity<&CapacityPlan::blocks_per_request>({"blocks_per_request", "ids"}),
          {{"groups", "block", "tables"}, groups_cell},
          {{"beaten_by", "beaten by", "", Align::left}, beaten_by_cell}};
}

std::vector<CandidateField> fields_of_blocks() {
  return joined({{{{"attention_pack_size", "N"}, pack_cell},
                  {{"cache_mode", "mode"}, mode_cell},
                  {{"user_block_size", "block size set"}, floor_cell},
                  {{"block_size_tokens", "block"}, block_cell},
                  {{"kernel_block_size_tokens", "kernel block"}, kernel_block_cell},
                  {{"match_unit_tokens", "match unit"}, unit_cell},
                  {{"retention_tokens", "retention"}, retention_tokens_cell},
                  {{"page_bytes", "page"}, page_cell},
                  {{"pools", "pools"}, pools_cell},
                  {{"groups", "groups"}, groups_cell},
                  {{"num_blocks", "blocks"}, ids_cell},
                  of_capacity<&CapacityPlan::blocks_per_request>({"blocks_per_request", "ids"}),
                  of_capacity<&CapacityPlan::bytes_per_request>({"bytes_per_request", "request"}),
                  real_of_capacity<&CapacityPlan::max_concurrency>({"max_concurrency", "printed concurrency"}),
                  real_of_capacity<&CapacityPlan::usable_concurrency>({"usable_concurrency", "concurrency"})},
                 found_fields(),
                 {of_candidate<&Candidate::preemptions>({"preemptions", "preemptions"}),
                  of_candidate<&Candidate::evictions>({"evictions", "evictions"}),
                  of_candidate<&Candidate::copied_states>({"copied_states", "copied states"})},
                 choice_fields(),
                 {{{"is_pick_without_packing", "pick without packing"}, unpacked_cell},
                  {{"overloaded", "overloaded"}, overloaded_cell}}});
}

void add_packs(Document& document, const RecommendAnswer& report, const RecommendReasons& reasons) {
  if (reasons.packs.empty()) return;
  const Recommendation& result = report.result;
  document.blocks.emplace_back(
      Heading{fmt::format("Packs in mode {}, nothing else changed", to_string(result.layout_of(result.pick).mode()))});
  std::vector<CandidateRow> rows;
  for (const PlainPack& plain : report.plain_packs) rows.push_back({report, plain.candidate});
  document.blocks.emplace_back(table_of(pack_fields(), rows));
  document.blocks.emplace_back(Listing{reasons.packs});
}

ordered_json search_of_blocks(const Recommendation& result) {
  ordered_json impossible = ordered_json::array();
  for (const auto& [engine, refusal] : result.impossible)
    impossible.push_back({{"attention_pack_size", engine.attention_pack_size},
                          {"user_block_size",
                           engine.block_size_tokens ? ordered_json(*engine.block_size_tokens) : ordered_json()},
                          {"cache_mode", to_string(engine.cache_mode)},
                          {"reason", refusal.what()}});
  return {{"kind", to_string(result.search)},
          {"exhaustive", result.search == SearchKind::exhaustive},
          {"planned_layouts", result.planned_layouts},
          {"merged_layouts", result.merged_layouts},
          {"combinations", result.combinations},
          {"simulations", result.simulations},
          {"impossible", impossible}};
}

}  // namespace

const SearchReporter block_search_reporter{.add_space = add_space_of_blocks,
                                           .pick = picked_blocks,
                                           .settings = settings_of_blocks,
                                           .add_reasons = add_block_reasons,
                                           .add_beside = add_packs,
                                           .front = front_of_blocks,
                                           .candidates = fields_of_blocks,
                                           .search = search_of_blocks,
                                           .at_once = "requests that fit, without the null block",
                                           .reference = "N = 1 in mode align",
                                           .impossible = "Layouts that cannot run",
                                           .combination = "layout"};

}  // namespace hybridkv
