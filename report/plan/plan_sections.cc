#include "report/plan/plan_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "planner/allocated_tensors.h"
#include "planner/group_runs.h"
#include "planner/plan_facts.h"
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

/// "B" in a column of its own only where some row has bytes to lose.
Audience where_any(const CachePlan& plan, std::int64_t BlockWaste::*bytes) {
  const auto& waste = plan.waste.per_block;
  const bool any = std::any_of(waste.begin(), waste.end(), [&](const BlockWaste& block) { return block.*bytes != 0; });
  return any ? Audience::everyone : Audience::programs;
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
  const bool split = std::any_of(plan.specs.begin(), plan.specs.end(), [](const SpecPlan& spec) {
    return spec.kernel_block_size_tokens != spec.block_size_tokens;
  });
  Table table(
      {{"spec", "spec"},
       {"kind", "kind", "", Align::left},
       {"layers", "layers"},
       {"layer_numbers", "layer numbers", "", Align::left},
       {"block_size_tokens", "block", "tokens"},
       {"kernel_block_size_tokens", "kernel", "tokens", Align::right, split ? Audience::everyone : Audience::programs},
       {"layers_per_page", "layers", "a page"},
       {"bytes_per_token", "token", "bytes"},
       {"state_bytes", "state", "bytes"},
       {"unpadded_page_bytes", "unpadded", "bytes"},
       {"padding_percent", "pad"}});
  for (const SpecPlan& spec : plan.specs) {
    std::optional<std::int64_t> token_bytes, state_bytes;
    (spec.state ? state_bytes : token_bytes) = spec.state ? spec.state->bytes : spec.bytes_per_token;
    table.add_row({spec.id, spec_name(spec), static_cast<std::int64_t>(spec.layers.size()), short_list(spec.layers),
                   spec.block_size_tokens, spec.kernel_block_size_tokens, spec.layers_per_page, cell_of(token_bytes),
                   cell_of(state_bytes), spec.unpadded_page_bytes, Percent{spec.padding_percent}});
  }
  return table;
}

Table tensors_table(const CachePlan& plan) {
  Table table({{"groups", "groups", "", Align::left},
               {"kind", "kind", "", Align::left},
               {"num_layers", "layers", "of each"},
               {"layer_stride", "layer stride", "bytes"},
               {"block_stride", "block stride", "bytes"},
               {"offset_bytes", "offset", "bytes"},
               {"layers", "layers of the first", "", Align::left}});
  for (const PlanRun& run : group_runs(plan)) {
    const GroupPlan& group = plan.groups[run.first];
    if (group.pages.empty()) continue;
    const AllocatedTensor tensor = allocated_tensor(plan, group);
    table.add_row({run.numbers(), spec_name(spec_of(plan, group.spec)), static_cast<std::int64_t>(tensor.layers.size()),
                   tensor.layer_stride, tensor.block_stride, tensor.offset_bytes, human_list(tensor.layers)});
  }
  return table;
}

Table groups_table(const CachePlan& plan) {
  Table table({{"groups", "groups", "", Align::left},
               {"kind", "kind", "", Align::left},
               {"pages", "pages", "of each"},
               {"padding_slots", "empty slots", "of each"},
               {"layers", "layers of the first", "", Align::left}});
  for (const PlanRun& run : group_runs(plan)) {
    const GroupPlan& group = plan.groups[run.first];
    table.add_row({run.numbers(), spec_name(spec_of(plan, group.spec)), static_cast<std::int64_t>(group.pages.size()),
                   group.padding_slots, group.pages.empty() ? "on other stages" : human_list(group.layers())});
  }
  return table;
}

Table pools_table(const CachePlan& plan) {
  const std::vector<PlanRun> runs = pool_runs(plan);
  const bool alike = std::any_of(runs.begin(), runs.end(), [](const PlanRun& run) { return run.count > 1; });
  std::vector<Column> columns{{"pools", "pools", "", Align::left}, {"bytes", "size", alike ? "of each" : ""}};
  for (const SpecPlan& spec : plan.specs)
    columns.push_back({fmt::format("layers_of_spec_{}", spec.id), spec_name(spec) + " layers",
                       alike ? "of the first" : "", Align::left});
  Table table(std::move(columns));
  for (const PlanRun& run : runs) {
    const PoolPlan& pool = plan.pools[run.first];
    std::vector<Cell> cells{run.numbers(), ByteCount{pool.bytes}};
    for (const SpecPlan& spec : plan.specs) {
      std::vector<std::int64_t> layers;
      for (const LayerRef& user : pool.shared_by)
        if (user.spec == spec.id) layers.push_back(user.layer);
      cells.emplace_back(human_list(layers));
    }
    table.add_row(std::move(cells));
  }
  return table;
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

std::vector<std::string> prefix_sentences(const CachePlan& plan) {
  const PrefixPlan& prefix = plan.prefix;
  if (!prefix.cacheable)
    return {fmt::format("Mode {} keeps no recurrent state for a prefix: nothing is ever found again.",
                        to_string(plan.cache_mode))};
  if (plan.rows)
    return {fmt::format("A prompt goes on in a slot whose last sequence it continues, else from a checkpoint of that "
                        "slot on the host in what both share, else from the start: a second copy of a prompt of n "
                        "tokens hits n - {} tokens, a turn of a chat all before it.",
                        human_count(prefix.duplicate_misses_up_to_tokens))};
  const std::int64_t unit = prefix.match_unit_tokens;
  std::vector<std::string> sentences{
      fmt::format("A hit is a multiple of {}.", human_plural(unit, "token"))};
  if (prefix.min_cacheable_prefix_tokens)
    sentences.push_back(fmt::format("The shortest shared prefix that can hit is {}.",
                                    human_plural(*prefix.min_cacheable_prefix_tokens, "token")));
  if (plan.radix && plan.radix->strategy == RadixStrategy::no_buffer) {
    const std::int64_t chunk = prefix.duplicate_misses_up_to_tokens;
    sentences.push_back(fmt::format("States lie where chunks of {} tokens and requests end: a second copy of a prompt "
                                    "of n tokens hits floor((n - 1) / {}) * {} tokens, a turn of a chat all before it.",
                                    human_count(chunk), chunk, chunk));
    return sentences;
  }
  // A drafter drops the last matched blocks, so that the first prompts beyond one block hit nothing either.
  const std::int64_t dropped = std::max<std::int64_t>(0, prefix.duplicate_misses_up_to_tokens / unit - 1);
  const bool aligned = prefix.duplicate_misses_multiples_of_tokens.has_value();
  const std::string blocks = aligned ? fmt::format("floor(n / {})", unit) : fmt::format("floor((n - 1) / {})", unit);
  const std::string hit =
      dropped == 0 ? fmt::format("{} * {}", blocks, unit) : fmt::format("max(0, {} - {}) * {}", blocks, dropped, unit);
  std::string sentence =
      fmt::format("A second copy of a prompt of n tokens hits {} tokens: nothing up to n = {}", hit,
                  human_count(prefix.duplicate_misses_up_to_tokens));
  if (aligned)
    sentence += fmt::format(", and nothing where n is a multiple of {}, as the only state then lies past what may be "
                            "matched",
                            human_count(*prefix.duplicate_misses_multiples_of_tokens));
  sentences.push_back(sentence + ".");
  if (prefix.hash_block_tokens > 0 && prefix.hash_block_tokens != prefix.scheduler_block_tokens)
    sentences.push_back(fmt::format("Chain hashes cover {} each, the blocks of all groups meet every {}.",
                                    human_plural(prefix.hash_block_tokens, "token"),
                                    human_count(prefix.scheduler_block_tokens)));
  if (largest_state(plan) != nullptr && plan.rules->retention_tokens == 0)
    sentences.push_back("Of a prompt the last state alone is kept (retention 0): what two prompts share before they "
                        "part is found by the third.");
  return sentences;
}

Table block_waste_table(const CachePlan& plan) {
  const auto cause = [&](const char* name, const char* title, const char* subtitle, std::int64_t BlockWaste::*bytes) {
    return Column{name, title, subtitle, Align::right, where_any(plan, bytes)};
  };
  Table table({{"groups", "groups", "", Align::left},
               {"kind", "kind", "", Align::left},
               cause("state_padding_bytes", "state", "padding", &BlockWaste::state_padding_bytes),
               cause("attention_padding_bytes", "attention", "padding", &BlockWaste::attention_padding_bytes),
               cause("short_pack_bytes", "short last", "pack", &BlockWaste::short_pack_bytes),
               cause("empty_slot_bytes", "empty", "slots", &BlockWaste::empty_slot_bytes),
               {"total_bytes", "lost in", "each block"},
               {"share_percent", "of its", "bytes"}});
  std::int64_t all_entries = 0;
  for (const GroupPlan& group : plan.groups) all_entries += plan.entry_bytes(group);
  const auto add = [&](BlockWaste& sum, const BlockWaste& waste) {
    sum.state_padding_bytes += waste.state_padding_bytes;
    sum.attention_padding_bytes += waste.attention_padding_bytes;
    sum.short_pack_bytes += waste.short_pack_bytes;
    sum.empty_slot_bytes += waste.empty_slot_bytes;
  };
  const auto cells = [&](const std::string& groups, const std::string& kind, const BlockWaste& waste,
                         std::int64_t whole) -> std::vector<Cell> {
    return {groups, kind, waste.state_padding_bytes, waste.attention_padding_bytes, waste.short_pack_bytes,
            waste.empty_slot_bytes, waste.total(), percent_of(waste.total(), whole)};
  };
  BlockWaste sum;
  for (const BlockWaste& waste : plan.waste.per_block) add(sum, waste);
  for (const PlanRun& run : group_runs(plan))
    table.add_row(cells(run.numbers(), spec_name(spec_of(plan, plan.groups[run.first].spec)),
                        plan.waste.per_block.at(run.first), plan.entry_bytes(plan.groups[run.first])));
  table.set_footer(cells("all", "one block of each", sum, all_entries));
  return table;
}

Table load_waste_table(const CachePlan& plan) {
  Table table({{"use", "", "", Align::left},
               {"item", "what", "", Align::left},
               {"bytes", "bytes"},
               {"rounded", "size", "", Align::right, Audience::people},
               {"share_percent", "of the pools"}});
  const LoadWaste& load = plan.waste.at_load;
  const auto cells = [&](const char* use, const char* item, std::int64_t bytes) -> std::vector<Cell> {
    return {std::string(use), std::string(item), bytes, ByteCount{bytes}, percent_of(bytes, load.pool_bytes)};
  };
  table.add_row(cells("used", "K and V of live tokens", load.token_bytes));
  table.add_row(cells("used", "running states", load.state_bytes));
  table.add_row(cells("used", "checkpoints and speculative states", load.extra_state_bytes));
  table.add_row(cells("wasted", "state padding", load.state_padding_bytes));
  table.add_row(cells("wasted", "attention padding", load.attention_padding_bytes));
  table.add_row(cells("wasted", "short last pack", load.short_pack_bytes));
  table.add_row(cells("wasted", "empty slots of short groups", load.empty_slot_bytes));
  table.add_row(cells("wasted", "tails of last blocks", load.block_tail_bytes));
  if (plan.strategy == Strategy::two_level)
    table.add_row(cells("wasted", "unused small pages of large ones", load.unused_entry_bytes));
  table.add_row(cells("kept", "null block", load.null_block_bytes));
  table.add_row(cells("free", "blocks no request holds", load.free_bytes));
  table.set_footer(cells("all", "pools", load.pool_bytes));
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
  Table table({{"spec", "spec"},
               {"kind", "kind", "", Align::left},
               {"tensor", "tensor", "", Align::left},
               {"offset", "offset", "elements"},
               {"layers", "layers", "", Align::left},
               {"pools", "pools", "", Align::left}});
  struct Alike {
    const ViewPlan* first;
    std::int64_t offset;  // elements
    std::set<std::int64_t> layers, pools;
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
  const auto list = [](const std::set<std::int64_t>& values) {
    return human_list(std::vector<std::int64_t>(values.begin(), values.end()));
  };
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end].first->spec == rows[first].first->spec &&
           rows[end].first->tensor == rows[first].first->tensor)
      ++end;
    const bool shortened = end - first > most_rows;
    if (shortened) {  // the layers of a large pack begin evenly spaced: one row for all of them
      for (std::size_t row = first + 1; row < end; ++row) {
        rows[first].layers.merge(rows[row].layers);
        rows[first].pools.merge(rows[row].pools);
      }
    }
    for (std::size_t row = first; row < (shortened ? first + 1 : end); ++row) {
      const ViewPlan& view = *rows[row].first;
      const std::string offsets =
          fmt::format("{} to {} by {}", human_count(rows[first].offset), human_count(rows[end - 1].offset),
                      human_count(rows[first + 1 < end ? first + 1 : first].offset - rows[first].offset));
      table.add_row({view.spec, spec_name(spec_of(plan, view.spec)), view.tensor,
                     shortened ? Cell(offsets) : Cell(rows[row].offset), list(rows[row].layers),
                     list(rows[row].pools)});
    }
    first = end;
  }
  return table;
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
