#include "report/plan_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/plan_table.h"

namespace hybridkv {

namespace {

const SpecPlan& spec_of(const CachePlan& plan, std::int64_t id) { return plan.specs.at(static_cast<std::size_t>(id)); }

std::string spec_name(const SpecPlan& spec) { return spec.draft ? spec.kind + " (draft)" : spec.kind; }

/// Groups first .. first + count - 1 that differ in nothing but their layers.
struct GroupRun {
  std::size_t first = 0;
  std::size_t count = 0;
  std::string numbers() const {
    return count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1);
  }
};

std::vector<GroupRun> like_groups(const CachePlan& plan) {
  const auto alike = [](const GroupPlan& a, const GroupPlan& b) {
    return a.spec == b.spec && a.padding_slots == b.padding_slots && a.layers().size() == b.layers().size() &&
           a.pages.size() == b.pages.size();
  };
  std::vector<GroupRun> runs;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    if (!runs.empty() && alike(plan.groups[runs.back().first], plan.groups[i]))
      ++runs.back().count;
    else
      runs.push_back({i, 1});
  }
  return runs;
}

Cell share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return {};
  return Percent{100.0 * static_cast<double>(part) / static_cast<double>(whole)};
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
  Table table({{"spec", "spec"},
               {"kind", "kind", "", Align::left},
               {"layers", "layers"},
               {"layer_numbers", "layer numbers", "", Align::left},
               {"block_size_tokens", "block", "tokens"},
               {"kernel_block_size_tokens", "kernel", "tokens"},
               {"layers_per_page", "layers", "a page"},
               {"bytes_per_token", "token", "bytes/layer"},
               {"state_bytes", "state", "bytes"},
               {"unpadded_page_bytes", "unpadded", "bytes"},
               {"padding_percent", "padding"}});
  for (const SpecPlan& spec : plan.specs) {
    std::optional<std::int64_t> token_bytes, state_bytes;
    (spec.state ? state_bytes : token_bytes) = spec.state ? spec.state->bytes : spec.bytes_per_token;
    table.add_row({spec.id, spec_name(spec), static_cast<std::int64_t>(spec.layers.size()), human_list(spec.layers),
                   spec.block_size_tokens, spec.kernel_block_size_tokens, spec.layers_per_page, cell_of(token_bytes),
                   cell_of(state_bytes), spec.unpadded_page_bytes, Percent{spec.padding_percent}});
  }
  return table;
}

Table groups_table(const CachePlan& plan) {
  Table table({{"groups", "groups"},
               {"kind", "kind", "", Align::left},
               {"pages", "pages", "of each"},
               {"padding_slots", "empty slots", "of each"},
               {"layers", "layers of the first", "", Align::left}});
  for (const GroupRun& run : like_groups(plan)) {
    const GroupPlan& group = plan.groups[run.first];
    table.add_row({run.numbers(), spec_name(spec_of(plan, group.spec)), static_cast<std::int64_t>(group.pages.size()),
                   group.padding_slots, human_list(group.layers())});
  }
  return table;
}

Table pools_table(const CachePlan& plan) {
  std::vector<Column> columns{{"pool", "pool"}, {"bytes", "size"}};
  for (const SpecPlan& spec : plan.specs)
    columns.push_back({fmt::format("layers_of_spec_{}", spec.id), spec_name(spec) + " layers", "", Align::left});
  Table table(std::move(columns));
  for (std::size_t pool = 0; pool < plan.pools.size(); ++pool) {
    std::vector<Cell> cells{static_cast<std::int64_t>(pool), ByteCount{plan.pools[pool].bytes}};
    for (const SpecPlan& spec : plan.specs) {
      std::vector<std::int64_t> layers;
      for (const LayerRef& user : plan.pools[pool].shared_by)
        if (user.spec == spec.id) layers.push_back(user.layer);
      cells.emplace_back(human_list(layers));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

Table capacity_table(const CachePlan& plan) {
  Table table({{"max_model_len", "length", "tokens"},
               {"blocks_per_request", "block ids", "a request"},
               {"bytes_per_request", "request"},
               {"ideal_bytes_per_request", "ideal", "no paging"},
               {"over_ideal_percent", "over ideal"},
               {"fits", "fits"},
               {"max_concurrency", "concurrency", "printed"},
               {"usable_concurrency", "usable"},
               {"kv_cache_tokens", "KV cache", "tokens"}});
  for (const CapacityPlan& capacity : plan.capacity)
    table.add_row({capacity.max_model_len, capacity.blocks_per_request, ByteCount{capacity.bytes_per_request},
                   ByteCount{capacity.ideal_bytes_per_request}, Percent{over_ideal_percent(capacity)}, capacity.fits,
                   Real{capacity.max_concurrency}, Real{capacity.usable_concurrency}, capacity.kv_cache_tokens});
  return table;
}

std::vector<std::string> prefix_sentences(const CachePlan& plan) {
  const PrefixPlan& prefix = plan.prefix;
  if (!prefix.cacheable)
    return {fmt::format("Mode {} keeps no recurrent state for a prefix: nothing is ever found again.",
                        to_string(plan.cache_mode))};
  const std::int64_t unit = prefix.match_unit_tokens;
  std::vector<std::string> sentences{
      fmt::format("A hit is a multiple of {} tokens.", human_count(unit))};
  if (prefix.min_cacheable_prefix_tokens)
    sentences.push_back(fmt::format("The shortest shared prefix that can hit is {} tokens.",
                                    human_count(*prefix.min_cacheable_prefix_tokens)));
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
  return sentences;
}

Table block_waste_table(const CachePlan& plan) {
  Table table({{"groups", "groups"},
               {"kind", "kind", "", Align::left},
               {"state_padding_bytes", "state padding", "bytes"},
               {"attention_padding_bytes", "attention padding", "bytes"},
               {"short_pack_bytes", "short last pack", "bytes"},
               {"empty_slot_bytes", "empty slots", "bytes"},
               {"total_bytes", "lost in each block", "bytes"},
               {"share_percent", "of its bytes"}});
  const auto block_bytes = static_cast<std::int64_t>(plan.pools.size()) * plan.page_bytes;
  const auto add = [&](BlockWaste& sum, const BlockWaste& waste) {
    sum.state_padding_bytes += waste.state_padding_bytes;
    sum.attention_padding_bytes += waste.attention_padding_bytes;
    sum.short_pack_bytes += waste.short_pack_bytes;
    sum.empty_slot_bytes += waste.empty_slot_bytes;
  };
  const auto cells = [&](const std::string& groups, const std::string& kind, const BlockWaste& waste,
                         std::int64_t whole) -> std::vector<Cell> {
    return {groups, kind, waste.state_padding_bytes, waste.attention_padding_bytes, waste.short_pack_bytes,
            waste.empty_slot_bytes, waste.total(), share(waste.total(), whole)};
  };
  BlockWaste sum;
  for (const BlockWaste& waste : plan.waste.per_block) add(sum, waste);
  for (const GroupRun& run : like_groups(plan))
    table.add_row(cells(run.numbers(), spec_name(spec_of(plan, plan.groups[run.first].spec)),
                        plan.waste.per_block.at(run.first), block_bytes));
  table.set_footer(cells("all", "one block of each", sum, block_bytes * static_cast<std::int64_t>(plan.groups.size())));
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
    return {std::string(use), std::string(item), bytes, ByteCount{bytes}, share(bytes, load.pool_bytes)};
  };
  table.add_row(cells("used", "K and V of live tokens", load.token_bytes));
  table.add_row(cells("used", "running states", load.state_bytes));
  table.add_row(cells("used", "checkpoints and speculative states", load.extra_state_bytes));
  table.add_row(cells("wasted", "state padding", load.state_padding_bytes));
  table.add_row(cells("wasted", "attention padding", load.attention_padding_bytes));
  table.add_row(cells("wasted", "short last pack", load.short_pack_bytes));
  table.add_row(cells("wasted", "empty slots of short groups", load.empty_slot_bytes));
  table.add_row(cells("wasted", "tails of last blocks", load.block_tail_bytes));
  table.add_row(cells("wasted", "null block", load.null_block_bytes));
  table.add_row(cells("free", "blocks no request holds", load.free_bytes));
  table.set_footer(cells("all", "pools", load.pool_bytes));
  return table;
}

std::string load_sentence(const CachePlan& plan) {
  const LoadWaste& load = plan.waste.at_load;
  const auto count = static_cast<std::int64_t>(load.sequence_tokens.size());
  std::string requests = human_plural(count, "running request");
  if (count == 1) requests += fmt::format(" of {} tokens", human_count(load.sequence_tokens.front()));
  if (count > 1) {
    const auto [shortest, longest] = std::minmax_element(load.sequence_tokens.begin(), load.sequence_tokens.end());
    requests += *shortest == *longest
                    ? fmt::format(" of {} tokens each", human_count(*longest))
                    : fmt::format(" of {} to {} tokens", human_count(*shortest), human_count(*longest));
  }
  std::string text = fmt::format("With {}: used {} + wasted {} + free {} = {} bytes of pools", requests,
                                 human_count(load.used_bytes()), human_count(load.wasted_bytes()),
                                 human_count(load.free_bytes), human_count(load.pool_bytes));
  if (plan.waste.unallocated_bytes > 0)
    text += fmt::format("; {} of the memory are no whole block and stay unallocated",
                        exact_bytes(plan.waste.unallocated_bytes));
  return text + ".";
}

Table views_table(const CachePlan& plan) {
  Table table({{"kind", "kind", "", Align::left},
               {"tensor", "tensor", "", Align::left},
               {"dtype", "dtype", "", Align::left},
               {"pools", "pools", "", Align::left},
               {"layers", "layers", "", Align::left},
               {"layout", "shape:stride + offset", "elements", Align::left}});
  struct Alike {
    const ViewPlan* first;
    std::vector<std::int64_t> pools;
    std::vector<std::int64_t> layers;
  };
  std::vector<Alike> rows;
  for (const ViewPlan& view : plan.views) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Alike& alike) {
      return alike.first->spec == view.spec && alike.first->tensor == view.tensor && alike.first->dtype == view.dtype &&
             alike.first->layout == view.layout;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), Alike{&view, {}, {}});
    if (std::find(row->pools.begin(), row->pools.end(), view.pool) == row->pools.end()) row->pools.push_back(view.pool);
    row->layers.push_back(view.layer);
  }
  for (Alike& row : rows) {
    std::sort(row.pools.begin(), row.pools.end());
    std::sort(row.layers.begin(), row.layers.end());
    table.add_row({spec_name(spec_of(plan, row.first->spec)), row.first->tensor,
                   std::string(to_string(row.first->dtype)), human_list(row.pools), human_list(row.layers),
                   to_string(row.first->layout)});
  }
  return table;
}

Facts workspace_facts(const CachePlan& plan) {
  const WorkspacePlan& workspace = *plan.workspace;
  const WorkspaceSpec& batch = workspace.batch;
  Facts facts;
  facts.entries = {
      {"batch", fmt::format("{} query tokens x {} shared blocks x {} tokens, bias in {}", human_count(batch.query_tokens),
                            human_count(batch.shared_blocks), human_count(batch.block_size_tokens),
                            to_string(batch.dtype))},
      {"full", human_bytes(workspace.full_bias_bytes)},
      {fmt::format("chunk {}", batch.chunk_blocks),
       batch.shared_blocks > batch.chunk_blocks
           ? fmt::format("{} + {} of block usages (int32)", human_bytes(workspace.chunked_bias_bytes),
                         human_bytes(workspace.block_usage_bytes))
           : "does not apply: there are no more shared blocks than one chunk holds"}};
  return facts;
}

}  // namespace hybridkv
