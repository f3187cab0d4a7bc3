#include "report/plan/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"
#include "planner/shared_layers.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/plan/kernel_text.h"
#include "report/plan/plan_json.h"
#include "report/plan/plan_sections.h"
#include "report/plan/plan_table.h"
#include "report/plan/prefix_sentences.h"
#include "report/plan/rules_text.h"
#include "report/plan/tensor_pool_facts.h"
#include "report/plan/tree_pool_facts.h"
#include "report/plan/warning_summary.h"

namespace hybridkv {

namespace {

/// "15 gdn layers"; what a stage of a pipeline has none of, it still gives ids to.
std::string layers_text(const SpecPlan& spec, const std::string& kind) {
  if (spec.layers.empty()) return kind + "layers on other stages alone";
  return human_plural(std::ssize(spec.layers), kind + "layer");
}

std::string attention_text(const SpecPlan& spec) {
  const AttentionGeometry& attention = *spec.attention;
  std::string text = layers_text(spec, (spec.draft ? "draft " : "") + spec.kind + " ") + ", ";
  if (attention.kind == AttentionKind::hidden_state)
    text += fmt::format("one vector of {}", attention.head_size_k);
  else if (attention.kind == AttentionKind::mla)
    text += fmt::format("one latent of {}", attention.head_size_k);
  else if (spec.is_indexer())
    text += fmt::format("one row of {}", attention.head_size_k);
  else
    text += fmt::format("{} (K {} + V {})", human_plural(attention.kv_heads, "KV head"), attention.head_size_k,
                        attention.head_size_v);
  if (attention.window_tokens > 0) text += fmt::format(", window {}", human_count(attention.window_tokens));
  if (spec.is_cross()) text += fmt::format(", {} of a request", human_plural(spec.encoder_tokens, "encoder token"));
  const std::string of = spec.tokens_per_entry > 1 ? human_count(spec.tokens_per_entry) + " tokens" : "a token";
  return text + fmt::format("{}, {}: {} bytes {} and layer", counts_bytes(attention) ? " bytes" : "",
                            stored_as(attention), human_count(spec.bytes_per_token), of);
}

std::string ring_text(const SpecPlan& spec) {
  return fmt::format("{}, {} of {} bytes: {} bytes a request and layer", layers_text(spec, ""),
                     human_plural(spec.ring_tokens, "token"), human_count(spec.state->bytes / spec.ring_tokens),
                     human_count(spec.state->bytes));
}

std::string recurrent_text(const SpecPlan& spec) {
  return fmt::format("{}, {}: {} bytes a state and layer", layers_text(spec, spec.kind + " "), state_text(*spec.state),
                     human_count(spec.state->bytes));
}

std::string mode_text(const CachePlan& plan) {
  std::string text = plan.tree_pools                             ? tree_pool_text(plan)
                     : keeps_tensors_apart(plan.strategy) ? read_caching_text(plan)
                                                          : fmt::format("mode {}", to_string(plan.cache_mode));
  if (plan.rules->checkpoint_tokens && plan.keeps_every_boundary())
    if (const SpecPlan* const state = largest_state(plan))
      text += fmt::format(", states every {}", human_plural(state->block_size_tokens, "token"));
  if (plan.speculative_tokens > 0)
    text += fmt::format(", {}", human_plural(plan.speculative_tokens, "speculative token"));
  return text;
}

/// What people have to know of an arrangement that is not the engine's; empty for that one.
std::string strategy_text(const PlanSet& set) {
  constexpr const char* modelled = "modelled: no run of an engine covers it";
  constexpr const char* read = "read: no run of an engine covers it";
  const CachePlan& plan = set.plans.front();
  switch (plan.strategy) {
    case Strategy::packed_attention: {
      const bool packs = std::any_of(set.plans.begin(), set.plans.end(),
                                     [](const CachePlan& one) { return one.attention_pack_size > 1; });
      if (!packs || !plan.rules->one_allocation) return {};
      if (plan.rules->builder.empty()) return "packed_attention: N > 1 is modelled: in no release";
      return fmt::format("packed_attention: N > 1 with a builder, which `hybridkv emit {}` writes; the release alone "
                         "has N = 1", plan.rules->builder);
    }
    case Strategy::dual_pool:
      if (plan.tree_pools)
        return fmt::format("dual_pool: state slots in a pool of their own, tokens in pages of another, as {} splits "
                           "them; drawn with K and V of a page, and conv and ssm of a slot, side by side, which it "
                           "keeps in tensors of their own", plan.rules->title);
      return fmt::format("dual_pool: states in exact slots of a pool of their own, tokens in pages of others; {}",
                         modelled);
    case Strategy::compact_slots:
      return fmt::format("compact_slots: one allocation; states of all layers side by side in exact slots, tokens in "
                         "pages; {}", read);
    case Strategy::two_level:
      return fmt::format("two_level: large pages, each split among small pages of one kind of layer; {}", read);
    case Strategy::small_pages: {
      std::int64_t most = 1;
      for (const GroupPlan& group : plan.groups) most = std::max(most, group.ids_per_entry);
      return fmt::format("small_pages: a state takes {} of its group, wherever they lie; {}", human_plural(most, "id"),
                         modelled);
    }
    case Strategy::pool_groups:
    case Strategy::sequence_rows: return read_strategy_text(plan);
  }
  return {};
}

std::string memory_text(const PlanSet& set) {
  const auto [least, most] = std::minmax_element(
      set.plans.begin(), set.plans.end(),
      [](const CachePlan& a, const CachePlan& b) { return a.memory_bytes() < b.memory_bytes(); });
  std::string text = human_bytes(least->memory_bytes());
  if (least->memory_bytes() != most->memory_bytes()) text += " to " + human_bytes(most->memory_bytes());
  return text + (set.tensor_parallel > 1 ? " on each rank" : "");
}

/// What all plans of a set have in common.
Facts model_facts(const PlanSet& set, const PlanAnswer& findings) {
  Facts facts;
  const CachePlan& first = set.plans.front();
  facts.entries.emplace_back("rules", rules_text(first));
  if (findings.successor) facts.entries.emplace_back(findings.successor->label, glance_text(*findings.successor));
  for (const SpecPlan& spec : set.plans.front().specs)
    if (spec.attention) facts.entries.emplace_back("attention", attention_text(spec));
  for (const SpecPlan& spec : set.plans.front().specs)
    if (spec.ring_tokens > 0)
      facts.entries.emplace_back("ring", ring_text(spec));
    else if (spec.state)
      facts.entries.emplace_back("recurrent", recurrent_text(spec));
  if (const std::string strategy = strategy_text(set); !strategy.empty())
    facts.entries.emplace_back("strategy", strategy);
  facts.entries.emplace_back("caching", mode_text(set.plans.front()));
  facts.entries.emplace_back("memory", memory_text(set));
  return facts;
}

std::string length_note(const PlanSet& set, std::int64_t length) {
  const std::int64_t ideal = capacity_of(set.plans.front(), length).ideal_bytes_per_request;
  return fmt::format("Request: one of {} tokens; ideally, without paging, it takes {}. Fit: how many of them run at "
                     "once, counting the null block as engines print it, and without it, usable.",
                     human_count(length), human_bytes(ideal));
}

/// Which pack beats which: the numbers stand in the table of the comparison.
std::string beaten_text(const PlanSet& set, const std::vector<DominatedPack>& dominated) {
  std::map<std::int64_t, std::vector<std::int64_t>> beaten;
  for (const DominatedPack& pair : dominated)
    beaten[set.plans[pair.by].attention_pack_size].push_back(set.plans[pair.plan].attention_pack_size);
  std::string text;
  for (const auto& [better, worse] : beaten)
    text += fmt::format("{}N = {} beats N = {}", text.empty() ? "" : "; ", better, human_list(worse));
  return text + ": as good or better in block, bytes of a request and requests at once";
}

/// Warnings that differ in nothing but numbers once, with the packs they concern.
Listing warnings_of(const PlanSet& set, const PackComparison& packs) {
  Listing listing{{}, true};
  if (!packs.dominated.empty()) listing.items.push_back(beaten_text(set, packs.dominated));
  for (const WarningSummary& warning : summarised_warnings(set)) {
    if (warning.code == "dominated_pack") continue;  // said above
    const bool of_all = warning.packs.size() == set.plans.size();
    std::string text = of_all ? warning.text : fmt::format("N = {}: {}", human_list(warning.packs), warning.text);
    if (!warning.alike.empty())
      text += fmt::format("; the same, with other numbers, of N = {}", human_list(warning.alike));
    listing.items.push_back(std::move(text));
  }
  return listing;
}

void add_section(Document& document, const char* title, Block content) {
  document.blocks.emplace_back(Heading{title});
  document.blocks.push_back(std::move(content));
}

void add_warnings(Document& document, const PlanSet& set, const PackComparison& packs) {
  Listing warnings = warnings_of(set, packs);
  if (!warnings.items.empty()) add_section(document, "Warnings", std::move(warnings));
}

void add_workspace(Document& document, const CachePlan& plan) {
  if (plan.workspace) add_section(document, "Bias memory", workspace_facts(plan));
}

/// Is N a figure of the plan? A release with one allocation has one layer a page by itself, and does not speak of it.
bool tells_packs(const CachePlan& plan) { return !plan.cache_order || plan.attention_pack_size > 1; }

/// "15 layers in 4 packs of 4, the last of 3"; where N is no figure "15 layers".
std::string packs_text(const CachePlan& plan, const SpecPlan& spec) {
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  if (!tells_packs(plan)) return human_plural(layers, "layer");
  std::string text = fmt::format("{} in {} of {}", human_plural(layers, "layer"), human_plural(spec.num_pages, "pack"),
                                 spec.layers_per_page);
  if (const std::int64_t rest = layers % spec.layers_per_page; rest != 0) text += fmt::format(", the last of {}", rest);
  return text;
}

/// "25: 16 of tokens, 6 of states, 3 of states that chunks export"; what there is none of is left out.
std::string causes_text(const CapacityPlan& capacity) {
  const IdsByCause& ids = capacity.ids_by_cause;
  std::string text;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", human_count(count), what);
  };
  add(ids.tokens, "tokens");
  add(ids.states, "states");
  add(ids.speculative, "states after draft tokens");
  add(ids.checkpoints, "states that chunks export");
  add(ids.in_flight_window, "tokens in flight, which windows keep");
  add(ids.encoder, "the encoder's tokens");
  add(ids.other, "what the model has beside them");
  return fmt::format("{}: {}", human_count(capacity.blocks_per_request), text);
}

/// The one allocation of all layers.
std::vector<std::pair<std::string, std::string>> allocation_facts(const CachePlan& plan) {
  const CacheOrder order = *plan.cache_order;
  return {{"order", fmt::format("{}: {}", to_string(order),
                                is_block_outermost(order) ? "the layers of a block lie together"
                                                          : "a layer holds all its blocks")},
          {"allocation",
           fmt::format("one of {}: {} blocks of W = {}, of which {} are usable: block 0 is the null block",
                       human_bytes(plan.pool_bytes()), human_count(plan.num_blocks()),
                       exact_bytes(plan.arenas.front().bytes_per_id), human_count(plan.usable_blocks()))}};
}

/// Large pages, and how each kind of layer splits them.
std::vector<std::pair<std::string, std::string>> large_page_facts(const CachePlan& plan) {
  const ArenaPlan& arena = plan.arenas.front();
  std::vector<std::pair<std::string, std::string>> facts{
      {arena.name, fmt::format("{} of {}, of which {} are usable: page 0 is the null page", human_count(arena.num_ids),
                               exact_bytes(plan.lanes.front().bytes), human_count(arena.usable_ids()))}};
  for (const GroupPlan& group : plan.groups)
    facts.emplace_back("small pages",
                       fmt::format("{} of {} in a large one of {}", human_count(group.entries_per_id),
                                   exact_bytes(plan.entry_bytes(group)),
                                   plan.spec_of(group).kind +
                                       (group.tensor ? " " + plan.tensors_of(group).front().name : std::string())));
  return facts;
}

/// What the ids of each arena own.
std::vector<std::pair<std::string, std::string>> pool_facts(const CachePlan& plan) {
  if (plan.cache_order) return allocation_facts(plan);
  if (keeps_tensors_apart(plan.strategy)) return tensor_pool_facts(plan);
  if (plan.is_uniform())
    return {
        {"pools", fmt::format("{} of {} pages each, of which {} are usable: page 0 is the null block",
                              plan.pools.size(), human_count(plan.num_blocks()), human_count(plan.usable_blocks()))}};
  if (plan.strategy == Strategy::two_level) return large_page_facts(plan);
  std::vector<std::pair<std::string, std::string>> facts;
  for (const GroupPlan& group : plan.groups) {
    const ArenaPlan& arena = plan.arena_of(group);
    const bool state = plan.spec_of(group).state.has_value();
    facts.emplace_back(arena.name, fmt::format("{} of {}, {} in each: {}, without id 0 {}",
                                               human_plural(arena.num_ids, state ? "slot" : "page"),
                                               exact_bytes(plan.page_bytes(group)),
                                               human_plural(std::ssize(group.pages), state ? "layer" : "page"),
                                               human_bytes(Checked(arena.num_ids) * arena.bytes_per_id),
                                               human_count(arena.usable_ids())));
  }
  return facts;
}

/// "22 block ids", arena by arena where there are several.
std::string request_ids_text(const CachePlan& plan, const Demand& demand) {
  if (counts_blocks(plan)) return human_plural(demand.total(), "block id");
  return ids_text(plan, demand);
}

/// The figures that the table of packs would show, for one plan.
Facts plan_facts(const CachePlan& plan, std::int64_t length, const Demand& request) {
  const CapacityPlan& capacity = capacity_of(plan, length);
  Facts facts;
  if (const SpecPlan* attention = primary_attention(plan))
    facts.entries.emplace_back("block", fmt::format("{}, kernel block {}; {}",
                                                    human_plural(attention->block_size_tokens, "token"),
                                                    human_count(attention->kernel_block_size_tokens),
                                                    packs_text(plan, *attention)));
  std::string page = exact_bytes(plan.page_bytes(primary_group(plan)));
  if (const SpecPlan* state = largest_state(plan))
    page += fmt::format(", {} padding of the state", human_percent(state->padding_percent));
  facts.entries.emplace_back("page", page);
  for (auto& fact : pool_facts(plan)) facts.entries.push_back(std::move(fact));
  facts.entries.emplace_back(
      "request", fmt::format("of {}: {}, {}; {} over the {} it would take without paging",
                             human_plural(length, "token"), request_ids_text(plan, request),
                             human_bytes(capacity.bytes_per_request), human_percent(over_ideal_percent(capacity)),
                             human_bytes(capacity.ideal_bytes_per_request)));
  if (plan.rules->counts_checkpoint_blocks) facts.entries.emplace_back("ids", causes_text(capacity));
  if (plan.tree_pools)
    for (auto& fact : tree_pool_facts(plan, capacity)) facts.entries.push_back(std::move(fact));
  else if (keeps_tensors_apart(plan.strategy))
    for (auto& fact : tensor_pool_capacity_facts(plan, capacity)) facts.entries.push_back(std::move(fact));
  else
    facts.entries.emplace_back(
      "capacity", fmt::format("{} such requests as engines print it, {} without the null block; {} KV cache tokens",
                              human_real(capacity.max_concurrency), human_real(capacity.usable_concurrency),
                              human_count(capacity.kv_cache_tokens)));
  std::string limits = fmt::format("{}, at most {} run",
                                   plan.max_fitting_tokens >= largest_tokens
                                       ? "a request of any length fits"
                                       : "longest request " + human_plural(plan.max_fitting_tokens, "token"),
                                   human_plural(plan.max_running_requests, "request"));
  if (plan.max_running_requests_by_states > 0)
    limits += fmt::format(" (states alone allow {})", human_count(plan.max_running_requests_by_states));
  limits += fmt::format(", one token costs {}", exact_bytes(plan.one_token_request_bytes));
  facts.entries.emplace_back("limits", limits);
  if (!plan.shared_kv.empty()) facts.entries.emplace_back("shared", shared_layers_text(plan.shared_kv));
  for (const ExtraPlan& extra : plan.extras) {
    std::string text = extra.what + ":";
    if (extra.bytes_per_block > 0) text += fmt::format(" {} beside each block", exact_bytes(extra.bytes_per_block));
    if (extra.blocks_per_request > 0)
      text += fmt::format(" {} more for each request", human_plural(extra.blocks_per_request, "block id"));
    facts.entries.emplace_back("extra", text);
  }
  return facts;
}

void add_details(Document& document, const CachePlan& plan) {
  add_section(document, "Capacity", capacity_table(plan));
  add_section(document, "Prefix cache", Listing{prefix_sentences(plan)});
  add_section(document, "Specs", specs_table(plan));
  add_section(document, "Groups", groups_table(plan));
  if (plan.cache_order)
    add_section(document, "Tensors of the allocation", tensors_table(plan));
  else
    add_section(document, "Pools", pools_table(plan));
  add_section(document, "Bytes lost in each block id, whatever it holds", block_waste_table(plan));
  add_section(document, "Where the bytes of the pools go", load_waste_table(plan));
  document.blocks.emplace_back(Paragraph{load_sentence(plan)});
  if (!plan.view_error.empty()) return;  // a warning says why
  add_section(document, "Views: extents and strides in elements", view_shapes(plan));
  document.blocks.emplace_back(views_table(plan));
}

/// What requests of the other lengths cost, pack by pack.
Table shorter_lengths_table(const PlanSet& set, std::int64_t longest) {
  const std::vector<Field<PlanAtLength>> fields{
      figure_field({"max_model_len", "length", "tokens"}), figure_field({"attention_pack_size", "N"}),
      figure_field({"blocks_per_request", "block ids"}),   figure_field({"bytes_per_request", "request"}),
      figure_field({"over_ideal_percent", "over", "ideal"}), figure_field({"max_concurrency", "fit", "printed"}),
      figure_field({"usable_concurrency", "fit", "usable"}), figure_field({"kv_cache_tokens", "KV cache", "tokens"})};
  std::vector<PlanAtLength> rows;
  for (const CapacityPlan& asked : set.plans.front().capacity)
    for (const CachePlan& plan : set.plans)
      if (asked.max_model_len != longest) rows.push_back({plan, capacity_of(plan, asked.max_model_len)});
  return table_of(fields, rows);
}

std::string title_of(const PlanSet& set) {
  std::string title = fmt::format("{}, tensor parallel {}", set.model, set.tensor_parallel);
  const bool packs = set.plans.size() == 1 && tells_packs(set.plans.front());
  if (packs && primary_attention(set.plans.front()) != nullptr)
    title += fmt::format(", {} a page", human_plural(set.plans.front().attention_pack_size, "attention layer"));
  return title;
}

void add_comparison(Document& document, const PlanSet& set, const PackComparison& comparison) {
  const std::int64_t length = longest_length(set);
  Table table = plan_table_at(set, length);
  table.mark_row(comparison.best);
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Paragraph{comparison.reason});
  document.blocks.emplace_back(Paragraph{length_note(set, length)});
  if (set.plans.front().capacity.size() > 1)
    add_section(document, "Shorter requests", shorter_lengths_table(set, length));
}

}  // namespace

Document plan_report(const PlanSet& set, const PlanAnswer& findings) {
  expects(!set.plans.empty(), "a report has at least one plan");
  Document document;
  document.blocks.emplace_back(Heading{title_of(set), 1});
  document.blocks.emplace_back(model_facts(set, findings));
  const bool single = set.plans.size() == 1;
  if (single)
    document.blocks.emplace_back(plan_facts(set.plans.front(), longest_length(set), findings.requests.front()));
  else
    add_comparison(document, set, findings.packs);
  add_warnings(document, set, findings.packs);
  if (!findings.serve.command.empty()) add_section(document, "Start it", Code{{findings.serve.command}});
  if (!findings.serve.beside.empty()) document.blocks.emplace_back(Listing{findings.serve.beside});
  const std::vector<KernelFit>& kernels = set.plans.front().kernels;
  if (single && !kernels.empty()) {
    document.blocks.emplace_back(Heading{"Kernels"});
    add_kernels(document, kernels);
  }
  add_workspace(document, set.plans.front());
  if (single) add_details(document, set.plans.front());
  return document;
}

std::string render_plan(const PlanSet& set, const PlanAnswer& findings, Format format, const Style& style) {
  if (format == Format::json) return json_text(to_json(set));
  if (format == Format::csv) return render_csv(plan_table(set));
  return render_people(plan_report(set, findings), format, style);
}

}  // namespace hybridkv
