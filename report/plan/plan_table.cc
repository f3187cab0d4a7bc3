#include "report/plan/plan_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/primary_attention.h"
#include "report/plan/figure_cell.h"

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

Cell groups_text(const CachePlan& plan, bool with_other) {
  const GroupCounts counts = count_groups(plan);
  std::string text = fmt::format("{}+{}", counts.attention, counts.recurrent);
  if (with_other) text += fmt::format("+{}", counts.other);
  return text;
}

using PlanFields = std::vector<Field<PlanAtLength>>;

Field<PlanAtLength> for_programs(const char* name, const char* title, const char* subtitle = "",
                                 Align align = Align::right) {
  return figure_field({name, title, subtitle, align, Audience::programs});
}

PlanFields set_fields(const PlanSet& set) {
  return {
      {{"model", "model", "", Align::left, Audience::programs},
       [&set](const PlanAtLength&) { return Cell(set.model); }},
      {{"tensor_parallel", "TP", "", Align::right, Audience::programs},
       [&set](const PlanAtLength&) { return Cell(set.tensor_parallel); }},
      for_programs("release", "release", "", Align::left),
  };
}

/// Groups of one kind.
Field<PlanAtLength> groups_field(const char* name, const char* title, std::int64_t GroupCounts::*count) {
  return {{name, title, "", Align::right, Audience::programs},
          [count](const PlanAtLength& at) { return Cell(count_groups(at.plan).*count); }};
}

/// `with_other`: there are groups beside attention and states; `with_kernel`: people need to see kernel blocks.
PlanFields layout_fields_of_plan(bool with_other, bool with_kernel) {
  return {
      figure_field({"attention_pack_size", "N"}),
      for_programs("cache_mode", "mode", "", Align::left),
      for_programs("speculative_tokens", "s", "tokens"),
      figure_field({"block_size_tokens", "block", "tokens"}),
      figure_field({"kernel_block_size_tokens", "kernel", "tokens", Align::right,
                    with_kernel ? Audience::everyone : Audience::programs}),
      figure_field({"page_bytes", "page", "bytes"}),
      figure_field({"padding_percent", "pad"}),
      for_programs("packs", "packs"),
      for_programs("pools", "pools"),
      {{"groups", "groups", with_other ? "att+rec+other" : "att+rec", Align::right, Audience::people},
       [with_other](const PlanAtLength& at) { return groups_text(at.plan, with_other); }},
      groups_field("attention_groups", "attention groups", &GroupCounts::attention),
      groups_field("recurrent_groups", "recurrent groups", &GroupCounts::recurrent),
      groups_field("other_groups", "other groups", &GroupCounts::other),
      figure_field({"num_blocks", "blocks"}),
      for_programs("usable_blocks", "usable"),
  };
}

PlanFields capacity_fields() {
  return {
      for_programs("max_model_len", "length", "tokens"),
      for_programs("blocks_per_request", "ids/request"),
      figure_field({"bytes_per_request", "request"}),
      for_programs("ideal_bytes_per_request", "ideal"),
      figure_field({"over_ideal_percent", "over", "ideal"}),
      for_programs("fits", "fits", "", Align::left),
      figure_field({"max_concurrency", "fit", "printed"}),
      figure_field({"usable_concurrency", "fit", "usable"}),
      figure_field({"kv_cache_tokens", "KV cache", "tokens"}),
      for_programs("kv_cache_tokens_by_concurrency", "by concurrency", "tokens"),
      for_programs("kv_cache_tokens_by_floor", "by floor", "tokens"),
  };
}

/// `with_prefix`: people need to see the shortest prefix that can hit.
PlanFields limit_fields(bool with_prefix) {
  return {
      for_programs("max_fitting_tokens", "longest", "tokens"),
      for_programs("max_running_requests", "running"),
      for_programs("max_running_requests_by_states", "running by states"),
      for_programs("one_token_request_bytes", "1-token request", "bytes"),
      for_programs("match_unit_tokens", "match unit", "tokens"),
      figure_field({"min_cacheable_prefix_tokens", "shortest", "prefix", Align::right,
                    with_prefix ? Audience::everyone : Audience::programs}),
      for_programs("used_bytes_at_load", "used"),
      for_programs("wasted_bytes_at_load", "wasted"),
      for_programs("free_bytes_at_load", "free"),
  };
}

/// Rows for every length, or for the one given.
Table build(const PlanSet& set, std::optional<std::int64_t> only_length) {
  PlanFields fields = set_fields(set);
  for (auto& more : {layout_fields_of_plan(has_other_groups(set), has_split_blocks(set)), capacity_fields(),
                     limit_fields(prefix_is_news(set))})
    fields.insert(fields.end(), more.begin(), more.end());
  std::vector<PlanAtLength> rows;
  for (const CachePlan& plan : set.plans)
    for (const CapacityPlan& capacity : plan.capacity)
      if (!only_length || capacity.max_model_len == *only_length) rows.push_back({plan, capacity});
  return table_of(fields, rows);
}

}  // namespace

Field<PlanAtLength> figure_field(Column column) {
  const PlanFigure& figure = plan_figure(column.name);
  const bool in_bytes = figure.unit == "bytes" && column.subtitle != "bytes";
  return {std::move(column), [&figure, in_bytes](const PlanAtLength& at) {
            const FigureValue value = figure.value(at);
            const auto* const size = std::get_if<std::int64_t>(&value);
            return in_bytes && size ? Cell(ByteCount{*size}) : figure_cell(value, figure.unit);
          }};
}

std::vector<Field<PlanAtLength>> plan_fields() {
  PlanFields fields = layout_fields_of_plan(true, true);
  for (auto& more : {capacity_fields(), limit_fields(true)}) fields.insert(fields.end(), more.begin(), more.end());
  std::erase_if(fields, [](const auto& field) { return field.column.audience == Audience::people; });
  return fields;
}

Table plan_table(const PlanSet& set) { return build(set, std::nullopt); }

Table plan_table_at(const PlanSet& set, std::int64_t max_model_len) { return build(set, max_model_len); }

}  // namespace hybridkv
