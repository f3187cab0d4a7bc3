#include "report/plan/plan_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/primary_attention.h"
#include "report/plan/figure_cell.h"
#include "report/plan/kernel_text.h"

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
    const SpecPlan& spec = primary_spec(plan);
    return spec.kernel_block_size_tokens != spec.block_size_tokens;
  });
}

/// Is there a shortest prefix that can hit, other than simply the block?
bool prefix_is_news(const PlanSet& set) {
  return std::any_of(set.plans.begin(), set.plans.end(), [](const CachePlan& plan) {
    const auto& shortest = plan.prefix.min_cacheable_prefix_tokens;
    return shortest && *shortest != primary_block_tokens(plan);
  });
}

std::string groups_text(const CachePlan& plan, bool with_other) {
  const GroupCounts counts = count_groups(plan);
  std::string text = fmt::format("{}+{}", counts.attention, counts.recurrent);
  if (with_other) text += fmt::format("+{}", counts.other);
  return text;
}

using PlanFields = std::vector<Field<PlanAtLength>>;

Field<PlanAtLength> program_figure(const char* name) { return figure_field(for_programs(name)); }

PlanFields set_fields(const PlanSet& set) {
  return {{for_programs("model"), [&set](const PlanAtLength&) { return set.model; }},
          {for_programs("tensor_parallel"), [&set](const PlanAtLength&) { return set.tensor_parallel; }},
          program_figure("release")};
}

/// Groups of one kind.
Field<PlanAtLength> groups_field(const char* name, std::int64_t GroupCounts::*count) {
  return {for_programs(name), [count](const PlanAtLength& at) { return count_groups(at.plan).*count; }};
}

/// `with_other`: there are groups beside attention and states; `with_kernel`: people need to see kernel blocks.
PlanFields layout_fields_of_plan(bool with_other, bool with_kernel) {
  return {
      figure_field({"attention_pack_size", "N"}),
      program_figure("cache_mode"),
      program_figure("speculative_tokens"),
      figure_field({"block_size_tokens", "block", "tokens"}),
      figure_field({"kernel_block_size_tokens", "kernel", "tokens", Align::right,
                    with_kernel ? Audience::everyone : Audience::programs}),
      figure_field({"page_bytes", "page", "bytes"}),
      figure_field({"padding_percent", "pad"}),
      program_figure("packs"),
      program_figure("pools"),
      {for_people("groups", with_other ? "att+rec+other" : "att+rec", Align::right),
       [with_other](const PlanAtLength& at) { return groups_text(at.plan, with_other); }},
      groups_field("attention_groups", &GroupCounts::attention),
      groups_field("recurrent_groups", &GroupCounts::recurrent),
      groups_field("other_groups", &GroupCounts::other),
      figure_field({"num_blocks", "blocks"}),
      program_figure("usable_blocks"),
  };
}

PlanFields capacity_fields() {
  return {
      program_figure("max_model_len"),
      program_figure("blocks_per_request"),
      figure_field({"bytes_per_request", "request"}),
      program_figure("ideal_bytes_per_request"),
      figure_field({"over_ideal_percent", "over", "ideal"}),
      program_figure("fits"),
      figure_field({"max_concurrency", "fit", "printed"}),
      figure_field({"usable_concurrency", "fit", "usable"}),
      figure_field({"kv_cache_tokens", "KV cache", "tokens"}),
      program_figure("kv_cache_tokens_by_concurrency"),
      program_figure("kv_cache_tokens_by_floor"),
  };
}

/// `with_prefix`: people need to see the shortest prefix that can hit.
PlanFields limit_fields(bool with_prefix) {
  return {
      program_figure("max_fitting_tokens"),
      program_figure("max_running_requests"),
      program_figure("max_running_requests_by_states"),
      program_figure("one_token_request_bytes"),
      program_figure("match_unit_tokens"),
      figure_field({"min_cacheable_prefix_tokens", "shortest", "prefix", Align::right,
                    with_prefix ? Audience::everyone : Audience::programs}),
      program_figure("used_bytes_at_load"),
      program_figure("wasted_bytes_at_load"),
      program_figure("free_bytes_at_load"),
  };
}

/// Of plans that were held against kernels: columns as of the candidates of recommend.
PlanFields kernel_fields(const PlanSet& set) {
  const auto is_judged = [](const CachePlan& plan) { return !plan.kernels.empty(); };
  if (std::none_of(set.plans.begin(), set.plans.end(), is_judged)) return {};
  return {{for_programs("kernels"), [](const PlanAtLength& at) { return worst_verdict_cell(at.plan.kernels); }},
          {for_programs("kernel_harm"), [](const PlanAtLength& at) { return kernel_harms_cell(at.plan.kernels); }}};
}

/// Rows for every length, or for the one given.
Table build(const PlanSet& set, std::optional<std::int64_t> only_length) {
  PlanFields fields = set_fields(set);
  for (auto& more : {layout_fields_of_plan(has_other_groups(set), has_split_blocks(set)), capacity_fields(),
                     limit_fields(prefix_is_news(set)), kernel_fields(set)})
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
