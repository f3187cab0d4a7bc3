#include "planner/request_decisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"
#include "planner/capacity.h"
#include "planner/demand.h"
#include "planner/large_pages.h"
#include "planner/plan_facts.h"
#include "planner/rank_tokens.h"
#include "planner/sum_rule.h"
#include "planner/table_formula.h"

namespace hybridkv {

namespace {

/// Groups of the spec that take ids; the others use those of the group before them.
std::int64_t groups_of(const Arrangement& plan, const SpecPlan& spec) {
  return std::count_if(plan.groups.begin(), plan.groups.end(),
                       [&](const GroupPlan& group) { return group.spec == spec.id && !group.shares_table; });
}

std::int64_t layers_of(const SpecPlan& spec) { return static_cast<std::int64_t>(spec.layers.size()); }

/// A group of the spec. Pre: it has one, as where it has layers on this stage.
const GroupPlan& group_of(const Arrangement& plan, const SpecPlan& spec) {
  return *std::find_if(plan.groups.begin(), plan.groups.end(),
                       [&](const GroupPlan& group) { return group.spec == spec.id; });
}

/// Do the groups of the spec need different numbers of ids, as kinds of small pages do?
bool needs_by_tensor(const Arrangement& plan, const SpecPlan& spec) {
  const GroupPlan& first = group_of(plan, spec);
  return std::any_of(plan.groups.begin(), plan.groups.end(), [&](const GroupPlan& group) {
    return group.spec == spec.id && !group.shares_table && !needs_as_many(first, group);
  });
}

/// Ids of all groups of the spec.
std::int64_t ids_of_groups(const Arrangement& plan, const SpecPlan& spec, std::int64_t tokens) {
  Checked ids = 0;
  for (const GroupPlan& group : plan.groups)
    if (group.spec == spec.id && !group.shares_table) ids += group_ids(plan, group, tokens);
  return ids;
}

std::string label_of(const Arrangement& plan, const GroupPlan& group) {
  return small_page_label(plan.spec_of(group), group.tensor);
}

std::string numbered(const char* what, const SpecPlan& spec) { return fmt::format("{} {}", what, spec.id); }

/// The ids of all groups of a spec.
void add_ids(SumRule& sum, const Arrangement& plan, const SpecPlan& spec, std::int64_t tokens) {
  if (needs_by_tensor(plan, spec)) {
    for (const GroupPlan& group : plan.groups) {
      if (group.spec != spec.id || group.shares_table) continue;
      const std::string ids = "ids of " + label_of(plan, group);
      sum.add(ids, {{ids, group_ids(plan, group, tokens), "blocks"}});
    }
    return;
  }
  sum.add(numbered("groups", spec) + " * " + numbered("ids", spec),
          {{numbered("groups", spec), groups_of(plan, spec), ""},
           {numbered("ids", spec), group_ids(plan, group_of(plan, spec), tokens), "blocks"}});
}

SumRule ids_sum(const Arrangement& plan, std::int64_t tokens) {
  SumRule sum;
  for (const SpecPlan& spec : plan.specs)
    if (groups_of(plan, spec) > 0) add_ids(sum, plan, spec, tokens);
  if (const std::int64_t extra = plan.extra_ids_per_request(); extra > 0)
    sum.add("extra ids", {{"extra ids", extra, "blocks"}});
  return sum;
}

SumRule ideal_sum(const Arrangement& plan, std::int64_t tokens) {
  SumRule sum;
  for (const SpecPlan& spec : plan.specs) {
    const Term layers{numbered("layers", spec), layers_of(spec), ""};
    if (spec.state) {
      sum.add(layers.symbol + " * " + numbered("M", spec), {layers, {numbered("M", spec), spec.state->bytes, "bytes"}});
      continue;
    }
    const std::int64_t kept = live_tokens_on_rank(plan, spec, tokens);
    const std::int64_t entries = ceil_div(kept, spec.tokens_per_entry);
    const Term live = spec.tokens_per_entry > 1           ? Term{numbered("entries", spec), entries, ""}
                      : spec.is_cross()                   ? Term{numbered("E", spec), kept, "tokens"}
                      : kept == tokens                    ? Term{"L", tokens, "tokens"}
                      : spec.attention->window_tokens > 0 ? Term{numbered("window", spec), kept, "tokens"}
                                                          : Term{numbered("tokens of the rank", spec), kept, "tokens"};
    sum.add(layers.symbol + " * " + numbered("a1", spec) + " * " + live.symbol,
            {layers, {numbered("a1", spec), spec.bytes_per_token, "bytes"}, live});
  }
  return sum;
}

/// Writes the decisions about requests of one length.
class LengthDecisions {
 public:
  LengthDecisions(const CachePlan& plan, std::int64_t tokens, Derivation& derivation)
      : plan_(plan),
        tokens_(tokens),
        derivation_(derivation),
        at_(fmt::format(" at {}", human_plural(tokens, "token"))) {}

  void derive_ids_of_groups() {
    for (const SpecPlan& spec : plan_.specs) {
      if (groups_of(plan_, spec) == 0) continue;
      const bool each = needs_by_tensor(plan_, spec);
      for (const GroupPlan& group : plan_.groups) {
        if (group.spec != spec.id || group.shares_table) continue;
        TableFormula formula = ids_formula(table_rule(plan_, spec), group, tokens_);
        add({fmt::format("block ids of a group of {}{}", each ? label_of(plan_, group) : spec_label(spec), at_),
             group_ids(plan_, group, tokens_), "blocks"},
            formula.text(), std::move(formula.inputs));
        if (!each) break;
      }
    }
  }

  void derive_request(const std::string& ids_symbol, const std::string& bytes_symbol) {
    const SumRule ids = ids_sum(plan_, tokens_);
    const Demand demand = request_demand(plan_, tokens_);
    std::vector<Term> inputs = ids.inputs();
    inputs.insert(inputs.begin(), {"L", tokens_, "tokens"});
    add({ids_symbol, demand.total(), "blocks"}, "ids = " + ids.text(), std::move(inputs));
    if (counts_blocks(plan_)) {
      const std::int64_t each = plan_.arenas.front().bytes_per_id;
      add({bytes_symbol, bytes_of(plan_, demand), "bytes"}, "bytes = ids * bytes of a block id",
          {{"ids", demand.total(), "blocks"}, {"bytes of a block id", each, "bytes"}}, RuleOf::arithmetic);
      return;
    }
    SumRule bytes;
    for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
      const std::string of = fmt::format("ids {}", arena), each = fmt::format("bytes of an id {}", arena);
      bytes.add(of + " * " + each,
                {{of, demand.ids[arena], "ids"}, {each, plan_.arenas[arena].bytes_per_id, "bytes"}});
    }
    add({bytes_symbol, bytes_of(plan_, demand), "bytes"}, "bytes = " + bytes.text() + ", arena by arena",
        bytes.inputs(), RuleOf::arithmetic);
  }

  /// What the ids are for; a cause without any is left out.
  void derive_causes(const IdsByCause& causes) {
    SumRule tokens, states, speculative, checkpoints, other, encoder;
    const bool shares_ids = std::any_of(plan_.groups.begin(), plan_.groups.end(),
                                        [](const GroupPlan& group) { return group.entries_per_id > 1; });
    // Rows of a sequence may be fewer than what is drafted.
    const Term drafts = plan_.rows ? Term{"rows for drafts", plan_.rows->rows_per_sequence - 1, "rows"}
                                   : Term{"s", plan_.speculative_tokens, "tokens"};
    for (const SpecPlan& spec : plan_.specs) {
      if (groups_of(plan_, spec) == 0) continue;
      const TableRule table = table_rule(plan_, spec);
      SumRule& cause = table.rings > 0 ? other : spec.state ? states : spec.is_cross() ? encoder : tokens;
      add_ids(cause, plan_, spec, tokens_);
      Term entries{numbered("groups", spec), groups_of(plan_, spec), ""};
      if (const std::int64_t each = group_of(plan_, spec).ids_per_entry; each > 1)
        entries = {numbered("ids of an entry of all groups", spec), Checked(groups_of(plan_, spec)) * each, "ids"};
      if (table.drafts.value_or(0) > 0) speculative.add(entries.symbol + " * " + drafts.symbol, {entries, drafts});
      if (table.exported > 0)
        checkpoints.add(entries.symbol + " * " + numbered("c", spec),
                        {entries, {numbered("c", spec), table.exported, "blocks"}});
    }
    if (shares_ids) {
      add_cause("speculative states", causes.speculative, "what states take with those of drafts, less without them",
                {drafts});
      add_cause("exported checkpoints", causes.checkpoints, "what states take with exported ones, less without them",
                {});
    } else {
      add_cause("speculative states", causes.speculative, speculative.text(), speculative.inputs());
      add_cause("exported checkpoints", causes.checkpoints, checkpoints.text(), checkpoints.inputs());
    }
    add_cause("tokens in flight of windows", causes.in_flight_window,
              "what windows take beyond the ids of the window itself: the tokens of the steps in flight", {});
    add_less("tokens", causes.tokens, tokens, {{"in flight", causes.in_flight_window, "blocks"}});
    add_less("states", causes.states, states,
             {{"speculative", causes.speculative, "blocks"}, {"exported", causes.checkpoints, "blocks"}});
    if (const std::int64_t extra = plan_.extra_ids_per_request(); extra > 0)
      other.add("extra ids", {{"extra ids", extra, "blocks"}});
    add_cause("the encoder's tokens", causes.encoder, encoder.text(), encoder.inputs());
    add_cause("what the model has beside", causes.other, other.text(), other.inputs());
  }

  void derive_ideal(const CapacityPlan& capacity) {
    const SumRule ideal = ideal_sum(plan_, tokens_);
    add({"ideal bytes of one request", capacity.ideal_bytes_per_request, "bytes"},
        "ideal = " + ideal.text() + ": no paging, one state", ideal.inputs(), RuleOf::arithmetic);
    if (capacity.ideal_bytes_per_request == 0) return;
    add({"over ideal", over_ideal_percent(capacity), "%"}, "over ideal = 100 * (bytes - ideal) / ideal",
        {{"bytes", capacity.bytes_per_request, "bytes"}, {"ideal", capacity.ideal_bytes_per_request, "bytes"}},
        RuleOf::arithmetic);
  }

  void derive_capacity(const CapacityPlan& capacity, TokenRule rule) {
    const Term length{"L", tokens_, "tokens"};
    if (counts_blocks(plan_))
      derive_concurrency_of_blocks(capacity);
    else
      derive_concurrency_of_arenas(capacity);
    add({"KV cache tokens by concurrency", capacity.kv_cache_tokens_by_concurrency, "tokens"},
        "tokens = int(max_concurrency * L)", {{"max_concurrency", capacity.max_concurrency, ""}, length});
    derive_floor(capacity);
    if (keeps_tensors_apart(plan_.strategy))
      return add({"KV cache tokens", capacity.kv_cache_tokens, "tokens"}, "tokens = by floor: no print of it is known",
                 {{"by floor", capacity.kv_cache_tokens, "tokens"}});
    if (plan_.tree_pools)
      return add({"KV cache tokens", capacity.kv_cache_tokens, "tokens"}, "tokens = token slots, as engines print it",
                 {{"token slots", plan_.tree_pools->split.token_slots, "tokens"}});
    const bool floors = rule == TokenRule::floor;
    add({"KV cache tokens", capacity.kv_cache_tokens, "tokens"},
        floors ? "tokens = by floor, as engine.token_rule says" : "tokens = by concurrency, as engine.token_rule says",
        {{floors ? "by floor" : "by concurrency", capacity.kv_cache_tokens, "tokens"}});
  }

 private:
  void add_cause(const char* cause, std::int64_t ids, std::string rule, std::vector<Term> inputs) {
    if (ids > 0) add({fmt::format("ids for {}{}", cause, at_), ids, "blocks"}, std::move(rule), std::move(inputs));
  }
  /// The ids of groups without those of other causes.
  void add_less(const char* cause, std::int64_t ids, const SumRule& all, const std::vector<Term>& others) {
    std::string rule = all.text();
    std::vector<Term> inputs = all.inputs();
    for (const Term& other : others) {
      if (std::get<std::int64_t>(other.value) == 0) continue;
      rule += " - " + other.symbol;
      inputs.push_back(other);
    }
    add_cause(cause, ids, std::move(rule), std::move(inputs));
  }

  void derive_concurrency_of_blocks(const CapacityPlan& capacity) {
    const Term ids{"ids", capacity.blocks_per_request, "blocks"};
    add({"max concurrency", capacity.max_concurrency, ""},
        "max_concurrency = num_blocks / ids (as engines print it, null block included)",
        {{"num_blocks", plan_.num_blocks(), "blocks"}, ids});
    add({"usable concurrency", capacity.usable_concurrency, ""}, "usable concurrency = usable / ids",
        {{"usable", plan_.usable_blocks(), "blocks"}, ids}, RuleOf::arithmetic);
  }

  void derive_concurrency_of_arenas(const CapacityPlan& capacity) {
    const Demand demand = request_demand(plan_, tokens_);
    const auto least = [&](const char* name, double value, const char* what, std::int64_t (*ids)(const ArenaPlan&)) {
      std::string rule;
      std::vector<Term> inputs;
      for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
        if (demand.ids[arena] == 0) continue;
        const std::string all = fmt::format("{} {}", what, arena), each = fmt::format("ids of a request {}", arena);
        rule += fmt::format("{}{} / {}", rule.empty() ? "" : ", ", all, each);
        inputs.push_back({all, ids(plan_.arenas[arena]), "ids"});
        inputs.push_back({each, demand.ids[arena], "ids"});
      }
      add({name, value, ""}, fmt::format("the least of {}: the scarcest arena decides", rule), std::move(inputs),
          RuleOf::arithmetic);
    };
    if (plan_.tree_pools || plan_.rules->source_only)
      least("max concurrency", capacity.max_concurrency, "usable",
            [](const ArenaPlan& arena) { return arena.usable_ids(); });
    else
      least("max concurrency", capacity.max_concurrency, "ids", [](const ArenaPlan& arena) { return arena.num_ids; });
    least("usable concurrency", capacity.usable_concurrency, "usable",
          [](const ArenaPlan& arena) { return arena.usable_ids(); });
  }

  void derive_floor(const CapacityPlan& capacity) {
    if (!counts_blocks(plan_)) {
      add({"KV cache tokens by floor", capacity.kv_cache_tokens_by_floor, "tokens"},
          "tokens = ids * block of the arena of tokens that gives fewest", {}, RuleOf::arithmetic);
      return;
    }
    const auto groups = static_cast<std::int64_t>(plan_.groups.size());
    const std::int64_t per_group = plan_.num_blocks() / groups;
    add({"KV cache tokens by floor", capacity.kv_cache_tokens_by_floor, "tokens"},
        "tokens = floor(num_blocks / groups) * smallest block, a state of mode none counting as L (engines up to 0.20)",
        {{"num_blocks", plan_.num_blocks(), "blocks"}, {"groups", groups, ""},
         {"smallest block", per_group == 0 ? 0 : capacity.kv_cache_tokens_by_floor / per_group, "tokens"}});
  }

  void add(Term result, std::string rule, std::vector<Term> inputs, RuleOf by = RuleOf::capacity) {
    derivation_.push_back({std::move(result), std::move(rule), std::move(inputs), cited(*plan_.rules, by)});
  }

  const CachePlan& plan_;
  std::int64_t tokens_;
  Derivation& derivation_;
  std::string at_;
};

/// The limits of a plan whose groups all take blocks of one arena.
void derive_limits_of_blocks(const CachePlan& plan, const DerivationLog& log) {
  const Term usable{"usable", plan.usable_blocks(), "blocks"};
  const auto add = [&](Term result, std::string rule, std::vector<Term> inputs) {
    log.add([&] { return Decision{std::move(result), std::move(rule), std::move(inputs),
                                     log.cite(RuleOf::arithmetic)}; });
  };
  std::vector<Term> bounds{usable};
  const std::int64_t longest = plan.max_fitting_tokens;
  if (longest > 0) bounds.push_back({"ids of it", request_demand(plan, longest).total(), "blocks"});
  if (longest < largest_tokens)
    bounds.push_back({"ids of one token more", request_demand(plan, longest + 1).total(), "blocks"});
  add({"longest request", longest, "tokens"},
      longest < largest_tokens ? "the largest L of which the usable blocks hold one request"
                               : "the largest length there is: the usable blocks hold a request of any",
      std::move(bounds));
  add({"running requests", plan.max_running_requests, ""}, "requests = floor(usable / ids of one token)",
      {usable, {"ids of one token", request_demand(plan, 1).total(), "blocks"}});
  Checked state_ids = 0;
  for (const SpecPlan& spec : plan.specs)
    if (spec.state && groups_of(plan, spec) > 0)
      state_ids += ids_of_groups(plan, spec, 1);
  if (state_ids > 0)
    add({"running requests by states", plan.max_running_requests_by_states, ""},
        "requests = floor(usable / ids of states)", {usable, {"ids of states", state_ids, "blocks"}});
  else
    add({"running requests by states", plan.max_running_requests_by_states, ""}, "0: there are no states", {});
}

/// The same where every arena has to have room.
void derive_limits_of_arenas(const CachePlan& plan, const DerivationLog& log) {
  std::vector<Term> one_token;
  const Demand demand = request_demand(plan, 1);
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    one_token.push_back({fmt::format("usable {}", arena), plan.arenas[arena].usable_ids(), "ids"});
    one_token.push_back({fmt::format("ids of one token {}", arena), demand.ids[arena], "ids"});
  }
  const auto add = [&](const char* name, std::int64_t value, const char* unit, const char* rule) {
    log.add([&] { return Decision{{name, value, unit}, rule, one_token, log.cite(RuleOf::arithmetic)}; });
  };
  add("longest request", plan.max_fitting_tokens, "tokens", "the largest L of which every arena holds one request");
  add("running requests", plan.max_running_requests, "",
      plan.tree_pools || plan.pool_groups
          ? "the least of floor(usable / ids of one token) over the arenas, and what the engine runs at most"
          : "the least of floor(usable / ids of one token) over the arenas");
  add("running requests by states", plan.max_running_requests_by_states, "",
      "the least of floor(usable / ids of one token) over the arenas of states; 0 without any");
}

}  // namespace

void derive_requests(const CachePlan& plan, TokenRule rule, Derivation& derivation) {
  for (const CapacityPlan& capacity : plan.capacity) {
    derivation.push_back({{"length", capacity.max_model_len, "tokens"}, "as asked for", {}, "limits.max_model_len"});
    LengthDecisions decisions(plan, capacity.max_model_len, derivation);
    decisions.derive_ids_of_groups();
    decisions.derive_request("block ids of one request", "bytes of one request");
    decisions.derive_causes(capacity.ids_by_cause);
    decisions.derive_ideal(capacity);
    decisions.derive_capacity(capacity, rule);
  }
  LengthDecisions one(plan, 1, derivation);
  one.derive_ids_of_groups();
  one.derive_request("block ids of a request of one token", "bytes of a request of one token");
  if (counts_blocks(plan))
    derive_limits_of_blocks(plan, {derivation, *plan.rules});
  else
    derive_limits_of_arenas(plan, {derivation, *plan.rules});
}

}  // namespace hybridkv
