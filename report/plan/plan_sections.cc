#include "report/plan/plan_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "planner/allocated_tensors.h"
#include "planner/group_runs.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "report/human.h"
#include "report/plan/plan_table.h"

namespace hybridkv {

namespace {

const SpecPlan& spec_of(const CachePlan& plan, std::int64_t id) { return plan.specs.at(static_cast<std::size_t>(id)); }

std::string spec_name(const SpecPlan& spec) { return spec.draft ? spec.kind + " (draft)" : spec.kind; }

/// The same without how many there are, for tables that have a column for it.
std::string short_list(const std::vector<std::int64_t>& values) {
  const std::string text = human_list(values);
  return text.substr(0, text.find(" ("));
}

/// Groups that are alike, of which tables have a row.
struct GroupRow {
  const GroupPlan* group;  ///< the first of them
  std::size_t position;    ///< of it
  std::string numbers, kind;
};

std::vector<GroupRow> group_rows(const CachePlan& plan) {
  std::vector<GroupRow> rows;
  for (const PlanRun& run : group_runs(plan)) {
    const GroupPlan& group = plan.groups[run.first];
    rows.push_back({&group, run.first, run.numbers(), spec_name(spec_of(plan, group.spec))});
  }
  return rows;
}

}  // namespace

std::string state_text(const StateSpec& state) {
  std::string text;
  for (const StateTensor& tensor : state.tensors) {
    std::string shape;
    for (const Axis& axis : tensor.layout.axes()) shape += (shape.empty() ? "" : " x ") + human_count(axis.extent);
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", tensor.name, shape, to_string(tensor.dtype));
  }
  return text;
}

Table specs_table(const CachePlan& plan) {
  using Row = SpecPlan;
  const bool split = std::any_of(plan.specs.begin(), plan.specs.end(), [](const Row& spec) {
    return spec.kernel_block_size_tokens != spec.block_size_tokens;
  });
  return table_of<Row>(
      {{{"spec", "spec"}, &Row::id},
       {{"kind", "kind"}, spec_name},
       {{"layers", "layers"}, [](const Row& spec) { return std::ssize(spec.layers); }},
       {{"layer_numbers", "layer numbers"}, via(&Row::layers, short_list)},
       {{"block_size_tokens", "block", "tokens"}, &Row::block_size_tokens},
       {{"kernel_block_size_tokens", "kernel", "tokens"}, &Row::kernel_block_size_tokens, split},
       {{"layers_per_page", "layers", "a page"}, &Row::layers_per_page},
       {{"bytes_per_token", "token", "bytes"},
        where([](const Row& spec) { return !spec.state; }, &Row::bytes_per_token)},
       {{"state_bytes", "state", "bytes"},
        where([](const Row& spec) { return spec.state.has_value(); }, via(&Row::state, &StateSpec::bytes))},
       {{"unpadded_page_bytes", "unpadded", "bytes"}, &Row::unpadded_page_bytes},
       {{"padding_percent", "pad"}, as<Percent>(&Row::padding_percent)}},
      plan.specs);
}

Table tensors_table(const CachePlan& plan) {
  struct Row {
    GroupRow of;
    AllocatedTensor tensor;
  };
  std::vector<Row> rows;
  for (const GroupRow& of : group_rows(plan))
    if (!of.group->pages.empty()) rows.push_back({of, allocated_tensor(plan, *of.group)});
  return table_of<Row>(
      {{{"groups", "groups"}, via(&Row::of, &GroupRow::numbers)},
       {{"kind", "kind"}, via(&Row::of, &GroupRow::kind)},
       {{"num_layers", "layers", "of each"}, [](const Row& row) { return std::ssize(row.tensor.layers); }},
       {{"layer_stride", "layer stride", "bytes"}, via(&Row::tensor, &AllocatedTensor::layer_stride)},
       {{"block_stride", "block stride", "bytes"}, via(&Row::tensor, &AllocatedTensor::block_stride)},
       {{"offset_bytes", "offset", "bytes"}, via(&Row::tensor, &AllocatedTensor::offset_bytes)},
       {{"layers", "layers of the first"}, [](const Row& row) { return human_list(row.tensor.layers); }}},
      rows);
}

Table groups_table(const CachePlan& plan) {
  return table_of<GroupRow>(
      {{{"groups", "groups"}, &GroupRow::numbers},
       {{"kind", "kind"}, &GroupRow::kind},
       {{"pages", "pages", "of each"}, [](const GroupRow& row) { return std::ssize(row.group->pages); }},
       {{"padding_slots", "empty slots", "of each"}, via(&GroupRow::group, &GroupPlan::padding_positions)},
       {{"layers", "layers of the first"},
        [](const GroupRow& row) {
          return row.group->pages.empty() ? "on other stages" : human_list(row.group->layers());
        }}},
      group_rows(plan));
}

Table pools_table(const CachePlan& plan) {
  const std::vector<PlanRun> runs = pool_runs(plan);
  const bool alike = std::any_of(runs.begin(), runs.end(), [](const PlanRun& run) { return run.count > 1; });
  const auto pool = [&](const PlanRun& run) -> const PoolPlan& { return plan.pools[run.first]; };
  std::vector<Field<PlanRun>> fields{{{"pools", "pools"}, &PlanRun::numbers},
                                     {{"bytes", "size", alike ? "of each" : ""},
                                      as<ByteCount>(via(pool, &PoolPlan::bytes))}};
  for (const SpecPlan& spec : plan.specs) {
    const auto layers = [&](const PlanRun& run) {
      std::vector<std::int64_t> used;
      for (const LayerRef& user : pool(run).shared_by)
        if (user.spec == spec.id) used.push_back(user.layer);
      return human_list(used);
    };
    fields.push_back({{fmt::format("layers_of_spec_{}", spec.id), spec_name(spec) + " layers",
                       alike ? "of the first" : ""},
                      layers});
  }
  return table_of(fields, runs);
}

Table capacity_table(const CachePlan& plan) {
  const std::vector<Field<PlanAtLength>> fields{
      figure_field({"max_model_len", "length", "tokens"}),
      figure_field({"blocks_per_request", "block ids", "a request"}),
      figure_field({"bytes_per_request", "request"}),
      figure_field({"ideal_bytes_per_request", "ideal", "no paging"}),
      figure_field({"over_ideal_percent", "over ideal"}),
      figure_field({"fits", "fits"}),
      figure_field({"max_concurrency", "fit", "printed"}),
      figure_field({"usable_concurrency", "fit", "usable"}),
      figure_field({"kv_cache_tokens", "KV cache", "tokens"})};
  std::vector<PlanAtLength> rows;
  for (const CapacityPlan& capacity : plan.capacity) rows.push_back({plan, capacity});
  return table_of(fields, rows);
}

Table block_waste_table(const CachePlan& plan) {
  struct Row {
    std::string groups, kind;
    BlockWaste waste;
    std::int64_t whole = 0;
  };
  std::vector<Row> rows;
  Row all{"all", "one block of each", {}};
  for (const GroupRow& row : group_rows(plan))
    rows.push_back({row.numbers, row.kind, plan.waste.per_block.at(row.position), plan.entry_bytes(*row.group)});
  for (const GroupPlan& group : plan.groups) all.whole += plan.entry_bytes(group);
  std::vector<Field<Row>> fields{{{"groups", "groups"}, &Row::groups}, {{"kind", "kind"}, &Row::kind}};
  // A cause has a column only where some block loses bytes to it.
  const auto add_cause = [&](Column column, std::int64_t BlockWaste::*bytes) {
    for (const BlockWaste& waste : plan.waste.per_block) all.waste.*bytes += waste.*bytes;
    if (all.waste.*bytes != 0) fields.push_back({std::move(column), via(&Row::waste, bytes)});
  };
  add_cause({"state_padding_bytes", "state", "padding"}, &BlockWaste::state_padding_bytes);
  add_cause({"attention_padding_bytes", "attention", "padding"}, &BlockWaste::attention_padding_bytes);
  add_cause({"short_pack_bytes", "short last", "pack"}, &BlockWaste::short_pack_bytes);
  add_cause({"empty_slot_bytes", "empty", "slots"}, &BlockWaste::empty_position_bytes);
  fields.push_back({{"total_bytes", "lost in", "each block"}, via(&Row::waste, &BlockWaste::total)});
  fields.push_back({{"share_percent", "of its", "bytes"},
                    [](const Row& row) { return percent_of(row.waste.total(), row.whole); }});
  Table table = table_of(fields, rows);
  table.set_footer(cells_of(fields, all));
  return table;
}

Table load_waste_table(const CachePlan& plan) {
  struct Row {
    const char* use;
    const char* item;
    std::int64_t bytes;
  };
  const LoadWaste& load = plan.waste.at_load;
  std::vector<Row> rows{{"used", "K and V of live tokens", load.token_bytes},
                        {"used", "running states", load.state_bytes},
                        {"used", "checkpoints and speculative states", load.extra_state_bytes},
                        {"wasted", "state padding", load.state_padding_bytes},
                        {"wasted", "attention padding", load.attention_padding_bytes},
                        {"wasted", "short last pack", load.short_pack_bytes},
                        {"wasted", "empty slots of short groups", load.empty_position_bytes},
                        {"wasted", "tails of last blocks", load.block_tail_bytes}};
  if (plan.strategy == Strategy::two_level)
    rows.push_back({"wasted", "unused small pages of large ones", load.unused_entry_bytes});
  rows.push_back({"kept", "null block", load.null_block_bytes});
  rows.push_back({"free", "blocks no request holds", load.free_bytes});
  const std::vector<Field<Row>> fields{
      {{"use"}, &Row::use},
      {{"item", "what"}, &Row::item},
      {{"bytes", "bytes"}, &Row::bytes},
      {for_people("size"), as<ByteCount>(&Row::bytes)},
      {{"share_percent", "of the pools"}, [&](const Row& row) { return percent_of(row.bytes, load.pool_bytes); }}};
  Table table = table_of(fields, rows);
  table.set_footer(cells_of(fields, {"all", "pools", load.pool_bytes}));
  return table;
}

std::string load_sentence(const CachePlan& plan) {
  const LoadWaste& load = plan.waste.at_load;
  const auto count = static_cast<std::int64_t>(load.sequence_tokens.size());
  std::string requests = human_plural(count, "running request");
  if (count == 1) requests += " of " + human_plural(load.sequence_tokens.front(), "token");
  if (count > 1) {
    const auto [shortest, longest] = std::minmax_element(load.sequence_tokens.begin(), load.sequence_tokens.end());
    requests += *shortest == *longest
                    ? fmt::format(" of {} tokens each", human_count(*longest))
                    : fmt::format(" of {} to {} tokens", human_count(*shortest), human_count(*longest));
  }
  std::string text = fmt::format("With {}: used {} + wasted {} + null block {} + free {} = {} bytes of pools",
                                 requests, human_count(load.used_bytes()), human_count(load.wasted_bytes()),
                                 human_count(load.null_block_bytes), human_count(load.free_bytes),
                                 human_count(load.pool_bytes));
  if (plan.waste.unallocated_bytes > 0)
    text += fmt::format("; {} of the memory are no whole block and stay unallocated",
                        exact_bytes(plan.waste.unallocated_bytes));
  return text + ".";
}

Facts view_shapes(const CachePlan& plan) {
  Facts facts;
  const auto axes_text = [](const Layout& layout, const char* between, auto number) {
    std::string text;
    for (const Axis& axis : layout.axes())
      text += fmt::format("{}{} {}", text.empty() ? "" : between, axis.name.view(), human_count(number(axis)));
    return text;
  };
  std::vector<std::pair<std::int64_t, std::string>> seen;
  for (const ViewPlan& view : plan.views) {
    if (std::find(seen.begin(), seen.end(), std::pair(view.spec, view.tensor)) != seen.end()) continue;
    seen.emplace_back(view.spec, view.tensor);
    const Layout elements = view.elements();
    facts.entries.emplace_back(
        fmt::format("{} {}", spec_name(spec_of(plan, view.spec)), view.tensor),
        fmt::format("{} in {}, strides {}", axes_text(elements, " x ", [](const Axis& axis) { return axis.extent; }),
                    to_string(view.dtype), axes_text(elements, "; ", [](const Axis& axis) { return axis.stride; })));
  }
  return facts;
}

Table views_table(const CachePlan& plan) {
  struct Alike {
    const ViewPlan* first;
    std::int64_t offset;  // elements
    std::set<std::int64_t> layers, pools;
    std::string offsets = {};  // of several in one row
  };
  std::vector<Alike> rows;
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::size_t> row_of;
  for (const ViewPlan& view : plan.views) {
    const auto [found, is_new] = row_of.try_emplace({view.spec, view.tensor, view.bytes.offset()}, rows.size());
    if (is_new) rows.push_back({&view, view.elements().offset(), {}, {}});
    rows[found->second].layers.insert(view.layer);
    rows[found->second].pools.insert(view.pool);
  }
  // Of one allocation every layer begins elsewhere: the tensors of a spec one after the other, a row for all layers.
  if (plan.cache_order)
    std::stable_sort(rows.begin(), rows.end(), [](const Alike& a, const Alike& b) {
      return std::tie(a.first->spec, a.first->tensor) < std::tie(b.first->spec, b.first->tensor);
    });
  const std::size_t most_rows = plan.cache_order ? 3 : 16;  // of one tensor; layers of one allocation all differ
  std::vector<Alike> shown;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end].first->spec == rows[first].first->spec &&
           rows[end].first->tensor == rows[first].first->tensor)
      ++end;
    if (end - first > most_rows) {  // the layers of a large pack begin evenly spaced: one row for all of them
      Alike all = rows[first];
      for (std::size_t row = first + 1; row < end; ++row) {
        all.layers.merge(rows[row].layers);
        all.pools.merge(rows[row].pools);
      }
      all.offsets = fmt::format("{} to {} by {}", human_count(all.offset), human_count(rows[end - 1].offset),
                                human_count(rows[first + 1].offset - all.offset));
      shown.push_back(std::move(all));
    } else {
      std::move(rows.begin() + static_cast<std::ptrdiff_t>(first),
                rows.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(shown));
    }
    first = end;
  }
  const auto of = [](auto getter) { return via(&Alike::first, getter); };
  const auto list = [](std::set<std::int64_t> Alike::*member) {
    return [=](const Alike& row) {
      return human_list(std::vector<std::int64_t>((row.*member).begin(), (row.*member).end()));
    };
  };
  return table_of<Alike>(
      {{{"spec", "spec"}, of(&ViewPlan::spec)},
       {{"kind", "kind"}, [&](const Alike& row) { return spec_name(spec_of(plan, row.first->spec)); }},
       {{"tensor", "tensor"}, of(&ViewPlan::tensor)},
       {{"offset", "offset", "elements"},
        [](const Alike& row) { return row.offsets.empty() ? Cell(row.offset) : Cell(row.offsets); }},
       {{"layers", "layers"}, list(&Alike::layers)},
       {{"pools", "pools"}, list(&Alike::pools)}},
      shown);
}

Facts workspace_facts(const CachePlan& plan) {
  const WorkspacePlan& workspace = *plan.workspace;
  const WorkspaceSpec& batch = workspace.batch;
  Facts facts;
  facts.entries = {{"batch", fmt::format("{} query tokens x {} shared blocks x {} tokens, bias in {}",
                                         human_count(batch.query_tokens), human_count(batch.shared_blocks),
                                         human_count(batch.block_size_tokens), to_string(batch.dtype))},
                   {"full", human_bytes(workspace.full_bias_bytes)},
                   {fmt::format("chunk {}", batch.chunk_blocks),
                    batch.shared_blocks > batch.chunk_blocks
                        ? fmt::format("{} + {} of block usages (int32)", human_bytes(workspace.chunked_bias_bytes),
                                      human_bytes(workspace.block_usage_bytes))
                        : "does not apply: there are no more shared blocks than one chunk holds"}};
  return facts;
}

}  // namespace hybridkv
