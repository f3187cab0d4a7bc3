#include "ask/conform/plan_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ask/conform/figure_place.h"
#include "ask/conform/row_figures.h"
#include "ask/conform/slot_record.h"
#include "ask/conform/tree_figures.h"
#include "ask/conform/tree_replay_rules.h"
#include "planner/allocated_tensors.h"
#include "planner/start_count.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// Groups that share a table together, as the engine counts them.
std::vector<std::vector<const GroupPlan*>> shared_tables(const CachePlan& plan) {
  std::vector<std::vector<const GroupPlan*>> tables;
  for (const GroupPlan& group : plan.groups) {
    if (!group.shares_table) tables.emplace_back();
    tables.back().push_back(&group);
  }
  return tables;
}

/// Pages as the engine counts them: one a layer.
Json group_record(const CachePlan& plan, const std::vector<const GroupPlan*>& table) {
  std::set<std::int64_t> layers, pages;
  for (const GroupPlan* group : table) {
    for (const std::int64_t layer : group->layers()) layers.insert(layer);
    pages.insert(plan.page_bytes(*group) / plan.spec_of(*group).layers_per_page);
  }
  const SpecPlan& spec = plan.spec_of(*table.front());
  Json record{{"layers", layers}, {"block_size_tokens", spec.block_size_tokens}, {"page_bytes", pages}};
  if (spec.state && plan.cache_mode == CacheMode::align) record["checkpoint_blocks"] = spec.checkpoint_blocks;
  return record;
}

/// Of those that prefixes are found by: rings are no such.
std::int64_t shortest_block(const CachePlan& plan) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const SpecPlan& spec : plan.specs)
    if (spec.ring_tokens == 0) shortest = std::min(shortest, spec.block_size_tokens);
  return shortest;
}

Json tensor_record(const AllocatedTensor& tensor) {
  return {{"layers", tensor.layers},
          {"layer_stride_bytes", tensor.layer_stride},
          {"block_stride_bytes", tensor.block_stride},
          {"offset_bytes", tensor.offset_bytes}};
}

Json view_record(const ViewPlan& view, const std::string& tensor) {
  std::vector<std::int64_t> shape, strides;
  for (const Axis& axis : view.bytes.axes()) {
    shape.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  return {{"layer", view.layer},
          {"tensor", tensor},
          {"shape", shape},
          {"strides_bytes", strides},
          {"offset_bytes", view.bytes.offset()}};
}

/// The views of the first layer of a group: engines call the tensors of a state by their number.
void add_views(Json& views, const CachePlan& plan, const GroupPlan& group) {
  const std::int64_t first = group.layers().front();
  int state = 0;
  for (const ViewPlan& view : plan.views)
    if (view.spec == group.spec && view.layer == first)
      views.push_back(view_record(view, plan.spec_of(group).state          ? fmt::format("state {}", state++)
                                        : plan.spec_of(group).is_indexer() ? "indexer"
                                        : plan.spec_of(group).is_cross()   ? "cross"
                                                                           : "kv"));
}

/// By layer and tensor, whatever the order of the groups is.
Json view_records(const CachePlan& plan) {
  Json views = Json::array();
  for (const GroupPlan& group : plan.groups)
    if (!group.pages.empty()) add_views(views, plan, group);
  std::sort(views.begin(), views.end(), [](const Json& a, const Json& b) {
    return std::pair(a["layer"].get<std::int64_t>(), a["tensor"].get<std::string>()) <
           std::pair(b["layer"].get<std::int64_t>(), b["tensor"].get<std::string>());
  });
  return views;
}

/// By their layers, whatever the order of the groups is.
std::vector<AllocatedTensor> sorted_tensors(const CachePlan& plan) {
  std::vector<AllocatedTensor> tensors = allocated_tensors(plan);
  std::stable_sort(tensors.begin(), tensors.end(), [](const AllocatedTensor& a, const AllocatedTensor& b) {
    return std::pair(a.layers, a.offset_bytes) < std::pair(b.layers, b.offset_bytes);
  });
  return tensors;
}

constexpr std::array block_rules_of_figures{DerivedFigure{"state_bytes", "M"},
                                            DerivedFigure{"block_size_tokens", "B"},
                                            DerivedFigure{"cache_order", "order"},
                                            DerivedFigure{"groups.layers", "g"},
                                            DerivedFigure{"groups.block_size_tokens", "block of"},
                                            DerivedFigure{"groups.page_bytes", "P"},
                                            DerivedFigure{"groups.checkpoint_blocks", "checkpoint blocks of"},
                                            DerivedFigure{"groups", "g"},
                                            DerivedFigure{"bytes_per_block", "W"},
                                            DerivedFigure{"num_blocks", "num_blocks"},
                                            DerivedFigure{"pool_bytes", "bytes of a pool"},
                                            DerivedFigure{"blocks_per_request", "block ids of one request"},
                                            DerivedFigure{"max_concurrency", "max concurrency"},
                                            DerivedFigure{"kv_cache_tokens", "KV cache tokens"},
                                            DerivedFigure{"scheduler_block_tokens", "S"},
                                            DerivedFigure{"hash_block_tokens", "h"},
                                            DerivedFigure{"match_unit_tokens", "match unit"},
                                            DerivedFigure{"tensors.layers", "g"},
                                            DerivedFigure{"tensors.layer_stride_bytes", "layer stride of"},
                                            DerivedFigure{"tensors.block_stride_bytes", "block stride of"},
                                            DerivedFigure{"tensors.offset_bytes", "offset of"},
                                            DerivedFigure{"views.shape", "kernel block of"},
                                            DerivedFigure{"views.strides_bytes", "order"},
                                            DerivedFigure{"views.offset_bytes", "byte offset of"},
                                            DerivedFigure{"replay.hits", "smallest prefix that can hit"},
                                            DerivedFigure{"replay.chunks", "match unit"}};

std::span<const DerivedFigure> derived_figures(const CachePlan& plan) {
  if (plan.tree_pools) return derived_tree_figures();
  return plan.rows ? derived_row_figures() : block_rules_of_figures;
}

/// The symbol, or one that says besides of what it is: "M (gdn)".
bool is_named_by(const Term& result, const std::string& symbol) {
  return result.symbol == symbol || result.symbol.starts_with(symbol + " ");
}

}  // namespace

Json plan_record(const CachePlan& plan) {
  if (plan.tree_pools) return tree_figures(plan);
  if (plan.rows) return row_figures(plan);
  Json record;
  std::set<std::int64_t> states;
  for (const SpecPlan& spec : plan.specs)
    if (spec.state) states.insert(spec.state->bytes);
  record["state_bytes"] = states;
  record["block_size_tokens"] = shortest_block(plan);
  record["cache_order"] = to_string(*plan.cache_order);
  for (const auto& table : shared_tables(plan)) record["groups"].push_back(group_record(plan, table));
  record["bytes_per_block"] = plan.arenas.front().bytes_per_id;
  record["num_blocks"] = plan.num_blocks();
  record["pool_bytes"] = plan.pool_bytes();
  const CapacityPlan& capacity = plan.capacity.front();
  const std::optional<StartCount> counted = start_count(plan, capacity);
  record["blocks_per_request"] = counted ? counted->ids : capacity.blocks_per_request;
  record["max_concurrency"] = counted ? counted->concurrency : capacity.max_concurrency;
  record["kv_cache_tokens"] = counted ? counted->tokens : capacity.kv_cache_tokens;
  record["match_refused"] = !plan.prefix.match_error.empty();
  if (plan.prefix.match_error.empty()) {
    record["scheduler_block_tokens"] = plan.prefix.scheduler_block_tokens;
    record["hash_block_tokens"] = plan.prefix.hash_block_tokens;
    record["match_unit_tokens"] = plan.prefix.match_unit_tokens;
  }
  for (const AllocatedTensor& tensor : sorted_tensors(plan)) record["tensors"].push_back(tensor_record(tensor));
  record["views_refused"] = !plan.view_error.empty();
  if (plan.view_error.empty()) record["views"] = view_records(plan);
  return record;
}

std::optional<Decision> decision_on(const CachePlan& plan, const std::string& figure) {
  const FigurePlace place = figure_place(figure);
  if (plan.tree_pools)
    if (std::optional<Decision> rule = tree_replay_rule(plan, place.name)) return rule;
  if (const ReplayRule* rule = slot_rule_on(place.name); rule != nullptr && plan.rows)
    return Decision{{place.name, "", ""}, std::string(rule->words), {}, cited(*plan.rules, rule->of)};
  const std::span<const DerivedFigure> derived = derived_figures(plan);
  const auto known = std::find_if(derived.begin(), derived.end(),
                                  [&](const DerivedFigure& one) { return one.figure == place.name; });
  if (known == derived.end()) return std::nullopt;
  std::string symbol(known->symbol);
  if (symbol.ends_with(" of") && place.position && place.name.starts_with("groups.")) {
    const auto tables = shared_tables(plan);
    if (*place.position < tables.size())
      symbol += " " + spec_label(plan.spec_of(*tables[*place.position].front()));
  }
  const auto found = std::find_if(plan.derivation.begin(), plan.derivation.end(),
                                  [&](const Decision& decision) { return is_named_by(decision.result, symbol); });
  return found == plan.derivation.end() ? std::nullopt : std::optional(*found);
}

}  // namespace hybridkv
