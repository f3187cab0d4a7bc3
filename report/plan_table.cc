#include "report/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

struct GroupCounts {
  std::int64_t attention = 0;  ///< of the packed kinds
  std::int64_t recurrent = 0;
  std::int64_t other = 0;  ///< windows, drafts, auxiliaries
};

GroupCounts count_groups(const CachePlan& plan) {
  GroupCounts counts;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    ++(spec.state                               ? counts.recurrent
       : spec.role() == SpecRole::attention ? counts.attention
                                            : counts.other);
  }
  return counts;
}

bool has_other_groups(const PlanSet& set) {
  return std::any_of(set.plans.begin(), set.plans.end(),
                     [](const CachePlan& plan) { return count_groups(plan).other > 0; });
}

/// Is there a kernel block that is not simply the block?
bool has_split_blocks(const PlanSet& set) {
  return std::any_of(set.plans.begin(), set.plans.end(), [](const CachePlan& plan) {
    const SpecPlan* spec = primary_attention(plan);
    return spec != nullptr && spec->kernel_block_size_tokens != spec->block_size_tokens;
  });
}

/// Is there a shortest prefix that can hit, other than simply the block?
bool prefix_is_news(const PlanSet& set) {
  return std::any_of(set.plans.begin(), set.plans.end(), [](const CachePlan& plan) {
    const SpecPlan* spec = primary_attention(plan);
    const auto& shortest = plan.prefix.min_cacheable_prefix_tokens;
    return shortest && (spec == nullptr || *shortest != spec->block_size_tokens);
  });
}

/// A number of the packed attention layers, empty without any.
auto of_attention(std::int64_t SpecPlan::* field) {
  return [field](const CachePlan& plan, const CapacityPlan&) {
    const SpecPlan* spec = primary_attention(plan);
    return spec ? Cell(spec->*field) : Cell();
  };
}

auto of_plan(std::int64_t CachePlan::* field) {
  return [field](const CachePlan& plan, const CapacityPlan&) { return Cell(plan.*field); };
}

/// Of the group whose pages people compare: attention's, where there is any.
template <class Value>
auto of_leading(Value value) {
  return [value](const CachePlan& plan, const CapacityPlan&) { return Cell(value(plan, primary_group(plan))); };
}

template <class As = std::int64_t>
auto of_capacity(std::int64_t CapacityPlan::* field) {
  return [field](const CachePlan&, const CapacityPlan& capacity) { return Cell(As{capacity.*field}); };
}

Cell state_padding(const CachePlan& plan, const CapacityPlan&) {
  const SpecPlan* spec = largest_state(plan);
  if (spec == nullptr) spec = primary_attention(plan);
  return spec ? Cell(Percent{spec->padding_percent}) : Cell();
}

Cell groups_text(const CachePlan& plan, bool with_other) {
  const GroupCounts counts = count_groups(plan);
  std::string text = fmt::format("{}+{}", counts.attention, counts.recurrent);
  if (with_other) text += fmt::format("+{}", counts.other);
  return text;
}

std::vector<PlanColumn> set_columns(const PlanSet& set) {
  constexpr Audience programs = Audience::programs;
  return {
      {{"model", "model", "", Align::left, programs},
       [&set](const CachePlan&, const CapacityPlan&) { return Cell(set.model); }},
      {{"tensor_parallel", "TP", "", Align::right, programs},
       [&set](const CachePlan&, const CapacityPlan&) { return Cell(set.tensor_parallel); }},
      {{"release", "release", "", Align::left, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(std::string(plan.rules->name)); }},
  };
}

/// `with_other`: there are groups beside attention and states; `with_kernel`: people need to see kernel blocks.
std::vector<PlanColumn> layout_columns(bool with_other, bool with_kernel) {
  constexpr Audience people = Audience::people;
  constexpr Audience programs = Audience::programs;
  return {
      {{"attention_pack_size", "N"}, of_plan(&CachePlan::attention_pack_size)},
      {{"cache_mode", "mode", "", Align::left, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(std::string(to_string(plan.cache_mode))); }},
      {{"speculative_tokens", "s", "tokens", Align::right, programs}, of_plan(&CachePlan::speculative_tokens)},
      {{"block_size_tokens", "block", "tokens"}, of_attention(&SpecPlan::block_size_tokens)},
      {{"kernel_block_size_tokens", "kernel", "tokens", Align::right, with_kernel ? Audience::everyone : programs},
       of_attention(&SpecPlan::kernel_block_size_tokens)},
      {{"page_bytes", "page", "bytes"},
       of_leading([](const CachePlan& plan, const GroupPlan& group) { return plan.page_bytes(group); })},
      {{"padding_percent", "pad"}, state_padding},
      {{"packs", "packs", "", Align::right, programs}, of_attention(&SpecPlan::num_pages)},
      {{"pools", "pools", "", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(std::int64_t(plan.pools.size())); }},
      {{"groups", "groups", with_other ? "att+rec+other" : "att+rec", Align::right, people},
       [with_other](const CachePlan& plan, const CapacityPlan&) { return groups_text(plan, with_other); }},
      {{"attention_groups", "attention groups", "", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(count_groups(plan).attention); }},
      {{"recurrent_groups", "recurrent groups", "", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(count_groups(plan).recurrent); }},
      {{"other_groups", "other groups", "", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(count_groups(plan).other); }},
      {{"num_blocks", "blocks"},
       of_leading([](const CachePlan& plan, const GroupPlan& group) { return plan.arena_of(group).num_ids; })},
      {{"usable_blocks", "usable", "", Align::right, programs},
       of_leading([](const CachePlan& plan, const GroupPlan& group) { return plan.arena_of(group).usable_ids(); })},
  };
}

std::vector<PlanColumn> capacity_columns() {
  constexpr Audience programs = Audience::programs;
  return {
      {{"max_model_len", "length", "tokens", Align::right, programs}, of_capacity(&CapacityPlan::max_model_len)},
      {{"blocks_per_request", "ids/request", "", Align::right, programs},
       of_capacity(&CapacityPlan::blocks_per_request)},
      {{"bytes_per_request", "request"}, of_capacity<ByteCount>(&CapacityPlan::bytes_per_request)},
      {{"ideal_bytes_per_request", "ideal", "", Align::right, programs},
       of_capacity<ByteCount>(&CapacityPlan::ideal_bytes_per_request)},
      {{"over_ideal_percent", "over", "ideal"},
       [](const CachePlan&, const CapacityPlan& capacity) { return Cell(Percent{over_ideal_percent(capacity)}); }},
      {{"fits", "fits", "", Align::left, programs},
       [](const CachePlan&, const CapacityPlan& capacity) { return Cell(capacity.fits); }},
      {{"max_concurrency", "fit", "printed"},
       [](const CachePlan&, const CapacityPlan& capacity) { return Cell(Real{capacity.max_concurrency}); }},
      {{"usable_concurrency", "fit", "usable"},
       [](const CachePlan&, const CapacityPlan& capacity) { return Cell(Real{capacity.usable_concurrency}); }},
      {{"kv_cache_tokens", "KV cache", "tokens"}, of_capacity(&CapacityPlan::kv_cache_tokens)},
      {{"kv_cache_tokens_by_concurrency", "by concurrency", "tokens", Align::right, programs},
       of_capacity(&CapacityPlan::kv_cache_tokens_by_concurrency)},
      {{"kv_cache_tokens_by_floor", "by floor", "tokens", Align::right, programs},
       of_capacity(&CapacityPlan::kv_cache_tokens_by_floor)},
  };
}

/// `with_prefix`: people need to see the shortest prefix that can hit.
std::vector<PlanColumn> limit_columns(bool with_prefix) {
  constexpr Audience programs = Audience::programs;
  const auto bytes_at_load = [](auto bytes) {
    return [bytes](const CachePlan& plan, const CapacityPlan&) { return Cell(ByteCount{bytes(plan.waste.at_load)}); };
  };
  return {
      {{"max_fitting_tokens", "longest", "tokens", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(Length{plan.max_fitting_tokens}); }},
      {{"max_running_requests", "running", "", Align::right, programs}, of_plan(&CachePlan::max_running_requests)},
      {{"max_running_requests_by_states", "running by states", "", Align::right, programs},
       of_plan(&CachePlan::max_running_requests_by_states)},
      {{"one_token_request_bytes", "1-token request", "bytes", Align::right, programs},
       of_plan(&CachePlan::one_token_request_bytes)},
      {{"match_unit_tokens", "match unit", "tokens", Align::right, programs},
       [](const CachePlan& plan, const CapacityPlan&) { return Cell(plan.prefix.match_unit_tokens); }},
      {{"min_cacheable_prefix_tokens", "shortest", "prefix", Align::right, with_prefix ? Audience::everyone : programs},
       [](const CachePlan& plan, const CapacityPlan&) {
         return cell_of(plan.prefix.min_cacheable_prefix_tokens);
       }},
      {{"used_bytes_at_load", "used", "", Align::right, programs},
       bytes_at_load([](const LoadWaste& load) { return load.used_bytes(); })},
      {{"wasted_bytes_at_load", "wasted", "", Align::right, programs},
       bytes_at_load([](const LoadWaste& load) { return load.wasted_bytes(); })},
      {{"free_bytes_at_load", "free", "", Align::right, programs},
       bytes_at_load([](const LoadWaste& load) { return load.free_bytes; })},
  };
}

/// Rows for every length, or for the one given.
Table build(const PlanSet& set, std::optional<std::int64_t> only_length) {
  std::vector<PlanColumn> columns = set_columns(set);
  for (auto& more : {layout_columns(has_other_groups(set), has_split_blocks(set)), capacity_columns(),
                     limit_columns(prefix_is_news(set))})
    columns.insert(columns.end(), more.begin(), more.end());
  std::vector<Column> headings;
  for (const PlanColumn& column : columns) headings.push_back(column.column);
  Table table(std::move(headings));
  for (const CachePlan& plan : set.plans) {
    for (const CapacityPlan& capacity : plan.capacity) {
      if (only_length && capacity.max_model_len != *only_length) continue;
      std::vector<Cell> cells;
      for (const PlanColumn& column : columns) cells.push_back(column.cell(plan, capacity));
      table.add_row(std::move(cells));
    }
  }
  return table;
}

}  // namespace

std::vector<PlanColumn> plan_columns() {
  std::vector<PlanColumn> columns = layout_columns(true, true);
  for (auto& more : {capacity_columns(), limit_columns(true)}) columns.insert(columns.end(), more.begin(), more.end());
  std::erase_if(columns, [](const PlanColumn& column) { return column.column.audience == Audience::people; });
  return columns;
}

Table plan_table(const PlanSet& set) { return build(set, std::nullopt); }

Table plan_table_at(const PlanSet& set, std::int64_t max_model_len) { return build(set, max_model_len); }

}  // namespace hybridkv
