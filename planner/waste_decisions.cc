#include "planner/waste_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "planner/demand.h"
#include "planner/group_runs.h"
#include "planner/plan_facts.h"
#include "planner/rank_tokens.h"
#include "planner/sum_rule.h"

namespace hybridkv {

namespace {


class WasteDecisions {
 public:
  WasteDecisions(const CachePlan& plan, Derivation& derivation) : plan_(plan), derivation_(derivation) {}

  void derive_block(const PlanRun& run) {
    const GroupPlan& group = plan_.groups[run.first];
    const SpecPlan& spec = plan_.specs[static_cast<std::size_t>(group.spec)];
    const BlockWaste& waste = plan_.waste.per_block[run.first];
    const std::string of = fmt::format(" of a block of group{} {}", run.count > 1 ? "s" : "", run.numbers());
    const Term page = room(group);
    const std::string& p = page.symbol;
    const Term pages{"pages", static_cast<std::int64_t>(group.pages.size()), ""};
    const Term unpadded{"unpadded", plan_.content_bytes(group), "bytes"};
    const std::int64_t gaps = spec.state && !group.tensor ? spec.state->padding_bytes : 0;
    if (spec.state) {
      add({"state padding" + of, waste.state_padding_bytes, "bytes"}, "padding = pages * (" + p + " - unpadded + gaps)",
          {pages, page, unpadded, {"gaps", gaps, "bytes"}});
      none("attention padding" + of, waste.attention_padding_bytes, "no attention");
      none("short last pack" + of, waste.short_pack_bytes, "no attention");
    } else {
      none("state padding" + of, waste.state_padding_bytes, "no state");
      add({"attention padding" + of, waste.attention_padding_bytes, "bytes"},
          "padding = pages * (" + p + " - unpadded)", {pages, page, unpadded});
      const Checked room = Checked(pages_of(group)) * spec.layers_per_page;
      add({"short last pack" + of, waste.short_pack_bytes, "bytes"}, "missing layers * block * a1",
          {{"missing layers", room - static_cast<std::int64_t>(group.layers().size()), ""},
           {"block", spec.block_size_tokens, "tokens"}, {"a1", spec.bytes_per_token, "bytes"}});
    }
    std::vector<Term> empty{{"empty slots", group.padding_positions, ""}, page};
    if (group.hole_bytes > 0) empty.push_back({"hole", group.hole_bytes, "bytes"});
    add({"empty slots" + of, waste.empty_position_bytes, "bytes"},
        "empty slots * " + p + (group.hole_bytes > 0 ? " + hole" : ""), std::move(empty));
    derive_total(of, waste, plan_.entry_bytes(group));
  }

  void derive_one_block_of_each() {
    BlockWaste sum;
    Checked whole = 0;
    for (const GroupPlan& group : plan_.groups) whole += plan_.entry_bytes(group);
    for (const BlockWaste& waste : plan_.waste.per_block) {
      sum.state_padding_bytes += waste.state_padding_bytes;
      sum.attention_padding_bytes += waste.attention_padding_bytes;
      sum.short_pack_bytes += waste.short_pack_bytes;
      sum.empty_position_bytes += waste.empty_position_bytes;
    }
    const std::string of = " of one block of each group";
    derive_sum("state padding" + of, &BlockWaste::state_padding_bytes, sum.state_padding_bytes);
    derive_sum("attention padding" + of, &BlockWaste::attention_padding_bytes, sum.attention_padding_bytes);
    derive_sum("short last pack" + of, &BlockWaste::short_pack_bytes, sum.short_pack_bytes);
    derive_sum("empty slots" + of, &BlockWaste::empty_position_bytes, sum.empty_position_bytes);
    derive_total(of, sum, whole);
  }

  void derive_load() {
    const LoadWaste& load = plan_.waste.at_load;
    const auto requests = static_cast<std::int64_t>(load.sequence_tokens.size());
    derivation_.push_back(
        {{"running requests at the load", requests, ""}, "as asked for, or one", {}, "limits.load_tokens"});
    for (std::int64_t tokens : std::set(load.sequence_tokens.begin(), load.sequence_tokens.end()))
      derivation_.push_back({{"tokens of a running request", tokens, "tokens"},
                             "as asked for, or the longest length that the usable blocks hold",
                             {},
                             "limits.load_tokens"});
    SumRule tokens, states, extra_states, state_padding, attention_padding, short_packs, empty_positions, dense, unused;
    for (const SpecPlan& spec : plan_.specs) {
      const Term ids = ids_of(spec);
      const Term kept{numbered("layers", spec), static_cast<std::int64_t>(spec.layers.size()), ""};
      if (spec.state) {
        const Term state{numbered("state", spec), spec.state->bytes - spec.state->padding_bytes, "bytes"};
        const Term running{"requests", requests, ""};
        states.add(fmt::format("requests * {} * {}", kept.symbol, state.symbol), {running, kept, state});
        extra_states.add(fmt::format("({} - requests) * {} * {}", ids.symbol, kept.symbol, state.symbol),
                         {ids, running, kept, state});
      } else {
        const bool shared = spec.tokens_per_entry > 1;
        const Term live{numbered(shared ? "live entries" : "live tokens", spec), live_entries(spec),
                        shared ? "" : "tokens"};
        const Term token{numbered("a1", spec), spec.bytes_per_token, "bytes"};
        const Term block{numbered(shared ? "entries of a block" : "block", spec), spec.block_entries(),
                         shared ? "" : "tokens"};
        tokens.add(fmt::format("{} * {} * {}", kept.symbol, token.symbol, live.symbol), {kept, token, live});
        dense.add(
            fmt::format("{} * ({} * {} - {}) * {}", kept.symbol, ids.symbol, block.symbol, live.symbol, token.symbol),
            {kept, ids, block, live, token});
      }
      add_lost(state_padding, spec, "state padding", &BlockWaste::state_padding_bytes);
      add_lost(attention_padding, spec, "attention padding", &BlockWaste::attention_padding_bytes);
      add_lost(short_packs, spec, "short packs", &BlockWaste::short_pack_bytes);
      add_lost(empty_positions, spec, "empty slots", &BlockWaste::empty_position_bytes);
      add_unused(unused, spec, ids);
    }
    const std::int64_t extra_ids = plan_.extra_ids_per_request();
    if (extra_ids > 0)
      add_product(extra_states, "requests * extra ids",
                  {{"requests", requests, ""}, {"extra ids", extra_ids, "blocks"}}, 0);
    item("K and V of live tokens", load.token_bytes, tokens);
    item("running states", load.state_bytes, states);
    item("checkpoints and speculative states", load.extra_state_bytes, extra_states);
    item("state padding", load.state_padding_bytes, state_padding);
    item("attention padding", load.attention_padding_bytes, attention_padding);
    item("short last packs", load.short_pack_bytes, short_packs);
    item("empty slots", load.empty_position_bytes, empty_positions);
    item("tails of last blocks", load.block_tail_bytes, dense);
    if (plan_.strategy == Strategy::two_level) item("unused small pages", load.unused_entry_bytes, unused);
    SumRule null_block, free, all;
    const Demand used = load_demand(plan_, load.sequence_tokens);
    for (std::size_t arena = 0; arena < plan_.arenas.size(); ++arena) {
      const ArenaPlan& of = plan_.arenas[arena];
      const bool only = counts_blocks(plan_);
      const Term every{only ? "num_blocks" : symbol("ids", arena), of.num_ids, "blocks"};
      const Term usable{only ? "usable" : symbol("usable", arena), of.usable_ids(), "blocks"};
      const Term held{only ? "ids" : symbol("held", arena), used.ids[arena], "blocks"};
      if (of.num_ids > 0 && of.has_null_id) add_product(null_block, "", {}, arena);
      add_product(free, fmt::format("({} - {})", usable.symbol, held.symbol), {usable, held}, arena);
      add_product(all, every.symbol, {every}, arena);
    }
    item("null block", load.null_block_bytes, null_block);
    item("blocks no request holds", load.free_bytes, free);
    item("all pools", load.pool_bytes, all);
    derive_sums();
  }

 private:
  static std::int64_t pages_of(const GroupPlan& group) { return static_cast<std::int64_t>(group.pages.size()); }
  static std::string numbered(const char* what, const SpecPlan& spec) { return fmt::format("{} {}", what, spec.id); }
  static std::string symbol(const char* what, std::size_t arena) { return fmt::format("{} {}", what, arena); }
  Term room(const GroupPlan& group) const {
    return {group.ids_per_entry > 1 ? "ids of an entry * P" : "P", plan_.entry_page_bytes(group), "bytes"};
  }
  /// Adds so many ids of an arena, in the bytes of its lanes.
  void add_product(SumRule& sum, const std::string& ids, std::vector<Term> inputs, std::size_t arena) const {
    Checked lanes = 0;
    std::int64_t page = 0;
    for (const LanePlan& lane : plan_.lanes)
      if (lane.arena.index() == arena) lanes += 1, page = lane.bytes;
    if (plan_.cache_order) {
      inputs.push_back({"W", plan_.arenas.front().bytes_per_id - plan_.extra_bytes_per_id(), "bytes"});
      sum.add(ids.empty() ? "W" : ids + " * W", std::move(inputs));
      return;
    }
    const bool only = plan_.is_uniform();
    if (keeps_tensors_apart(plan_.strategy)) {  // lanes of several sizes
      const std::string each = symbol("bytes of an id", arena);
      inputs.push_back({each, plan_.arenas[arena].bytes_per_id, "bytes"});
      sum.add(ids.empty() ? each : ids + " * " + each, std::move(inputs));
      return;
    }
    inputs.push_back({only ? "g" : symbol("lanes", arena), lanes, "pools"});
    inputs.push_back({only ? "P" : symbol("page", arena), page, "bytes"});
    const std::string piece = inputs[inputs.size() - 2].symbol + " * " + inputs.back().symbol;
    sum.add(ids.empty() ? piece : ids + " * " + piece, std::move(inputs));
  }

  void add(Term result, std::string rule, std::vector<Term> inputs) {
    derivation_.push_back({std::move(result), std::move(rule), std::move(inputs),
                           cited(*plan_.rules, RuleOf::arithmetic)});
  }
  void none(std::string symbol, std::int64_t bytes, const char* why) {
    add({std::move(symbol), bytes, "bytes"}, std::string("0: ") + why, {});
  }

  void derive_total(const std::string& of, const BlockWaste& waste, std::int64_t whole) {
    add({"lost" + of, waste.total(), "bytes"},
        "lost = state padding + attention padding + short last pack + empty slots",
        {{"state padding", waste.state_padding_bytes, "bytes"},
         {"attention padding", waste.attention_padding_bytes, "bytes"},
         {"short last pack", waste.short_pack_bytes, "bytes"},
         {"empty slots", waste.empty_position_bytes, "bytes"}});
    if (whole > 0) share("lost" + of, waste.total(), whole);
  }

  void derive_sum(std::string symbol, std::int64_t BlockWaste::*field, std::int64_t bytes) {
    SumRule sum;
    for (const PlanRun& run : group_runs(plan_)) {
      const std::int64_t lost = plan_.waste.per_block[run.first].*field;
      if (lost == 0) continue;
      const std::string groups = fmt::format("groups {}", run.first), each = fmt::format("each {}", run.first);
      sum.add(groups + " * " + each, {{groups, static_cast<std::int64_t>(run.count), ""}, {each, lost, "bytes"}});
    }
    add({std::move(symbol), bytes, "bytes"}, "sum = " + sum.text() + ": a run of like groups is called by its first",
        sum.inputs());
  }

  void share(const std::string& what, std::int64_t part, std::int64_t whole) {
    add({"share of " + what, 100.0 * static_cast<double>(part) / static_cast<double>(whole), "%"},
        "share = 100 * part / whole", {{"part", part, "bytes"}, {"whole", whole, "bytes"}});
  }

  void item(const std::string& what, std::int64_t bytes, const SumRule& sum) {
    add({what + " at the load", bytes, "bytes"}, "bytes = " + sum.text(), sum.inputs());
    if (plan_.waste.at_load.pool_bytes > 0) share(what + " at the load", bytes, plan_.waste.at_load.pool_bytes);
  }

  /// Table entries that one group of the spec has for all running requests together.
  Term ids_of(const SpecPlan& spec) const {
    Checked entries = 0;
    const TableRule rule = table_rule(plan_, spec);
    for (std::int64_t tokens : plan_.waste.at_load.sequence_tokens) entries += table_entries(rule, tokens);
    return {numbered("ids", spec), entries, "blocks"};
  }

  std::int64_t live_entries(const SpecPlan& spec) const {
    Checked live = 0;
    for (std::int64_t tokens : plan_.waste.at_load.sequence_tokens)
      live += ceil_div(live_tokens_on_rank(plan_, spec, tokens), spec.tokens_per_entry);
    return live;
  }

  /// ids of a spec times what one block of each of its groups loses, where it loses any.
  void add_lost(SumRule& sum, const SpecPlan& spec, const char* what, std::int64_t BlockWaste::*field) const {
    Checked lost = 0;
    for (const BlockWaste& waste : plan_.waste.per_block)
      if (plan_.groups[static_cast<std::size_t>(waste.group)].spec == spec.id) lost += waste.*field;
    if (lost == 0) return;
    const Term ids = ids_of(spec);
    sum.add(ids.symbol + " * " + numbered(what, spec), {ids, {numbered(what, spec), lost, "bytes"}});
  }

  /// Small pages of the large ones that requests hold, less those that they use.
  void add_unused(SumRule& sum, const SpecPlan& spec, const Term& used) const {
    for (const GroupPlan& group : plan_.groups) {
      if (group.spec != spec.id || group.entries_per_id == 1) continue;
      Checked held = 0;
      for (std::int64_t tokens : plan_.waste.at_load.sequence_tokens) held += group_ids(plan_, group, tokens);
      const std::string of = group.tensor ? plan_.tensors_of(group).front().name + " " : std::string();
      const Term large{of + numbered("held", spec), held, "ids"};
      const Term each{of + numbered("k", spec), group.entries_per_id, ""};
      const Term page{of + numbered("small page", spec), plan_.entry_bytes(group), "bytes"};
      sum.add(fmt::format("({} * {} - {}) * {}", large.symbol, each.symbol, used.symbol, page.symbol),
              {large, each, used, page});
    }
  }

  void derive_sums() {
    const LoadWaste& load = plan_.waste.at_load;
    add({"used at the load", load.used_bytes(), "bytes"}, "used = tokens + states + extra states",
        {{"tokens", load.token_bytes, "bytes"}, {"states", load.state_bytes, "bytes"},
         {"extra states", load.extra_state_bytes, "bytes"}});
    std::string wasted = "wasted = state padding + attention padding + short packs + empty slots + tails";
    std::vector<Term> parts{{"state padding", load.state_padding_bytes, "bytes"},
                            {"attention padding", load.attention_padding_bytes, "bytes"},
                            {"short packs", load.short_pack_bytes, "bytes"},
                            {"empty slots", load.empty_position_bytes, "bytes"},
                            {"tails", load.block_tail_bytes, "bytes"}};
    if (plan_.strategy == Strategy::two_level) {
      wasted += " + unused small pages";
      parts.push_back({"unused small pages", load.unused_entry_bytes, "bytes"});
    }
    add({"wasted at the load", load.wasted_bytes(), "bytes"}, std::move(wasted), std::move(parts));
    const std::int64_t allocated = plan_.allocated_bytes();
    const Term memory{"memory", plan_.memory_bytes(), "bytes"};
    if (counts_blocks(plan_))
      add({"unallocated", plan_.waste.unallocated_bytes, "bytes"},
          "unallocated = memory - num_blocks * bytes of a block id",
          {memory,
           {"num_blocks", plan_.num_blocks(), "blocks"},
           {"bytes of a block id", plan_.arenas.front().bytes_per_id, "bytes"}});
    else if (plan_.tree_pools)
      add({"unallocated", plan_.waste.unallocated_bytes, "bytes"},
          "unallocated = memory - ids of every arena * bytes of one - states of draft steps and rings + the dummy "
          "page, which is in no budget",
          {memory, {"ids of every arena * bytes of one", allocated, "bytes"},
           {"states of draft steps and rings", plan_.tree_pools->outside_bytes(), "bytes"},
           {"the dummy page", plan_.tree_pools->unbudgeted_bytes(), "bytes"}});
    else if (plan_.pool_groups)
      add({"unallocated", plan_.waste.unallocated_bytes, "bytes"},
          "unallocated = memory + bytes beyond the memory - ids of every arena * bytes of one",
          {memory, {"bytes beyond the memory", plan_.pool_groups->borrowed_bytes, "bytes"},
           {"ids of every arena * bytes of one", allocated, "bytes"}});
    else
      add({"unallocated", plan_.waste.unallocated_bytes, "bytes"},
          "unallocated = memory - ids of every arena * bytes of one",
          {memory, {"ids of every arena * bytes of one", allocated, "bytes"}});
  }

  const CachePlan& plan_;
  Derivation& derivation_;
};

}  // namespace

void derive_load_again(CachePlan& plan) {
  const auto at = [&](const char* symbol) {
    return std::find_if(plan.derivation.begin(), plan.derivation.end(),
                        [&](const Decision& decision) { return decision.result.symbol == symbol; });
  };
  // What derive_load writes first and last.
  const auto first = at("running requests at the load"), last = at("unallocated");
  if (first == plan.derivation.end() || last == plan.derivation.end()) return;
  Derivation load;
  WasteDecisions(plan, load).derive_load();
  plan.derivation.insert(plan.derivation.erase(first, last + 1), load.begin(), load.end());
}

void derive_waste(const CachePlan& plan, Derivation& derivation) {
  WasteDecisions decisions(plan, derivation);
  for (const PlanRun& run : group_runs(plan)) decisions.derive_block(run);
  decisions.derive_one_block_of_each();
  decisions.derive_load();
}

}  // namespace hybridkv
