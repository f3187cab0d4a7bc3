#include "planner/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/checked.h"
#include "base/number_text.h"
#include "planner/allocation_decisions.h"
#include "planner/arrange.h"
#include "planner/capacity.h"
#include "planner/encoder_tokens.h"
#include "planner/large_pages.h"
#include "planner/pack_comparison.h"
#include "planner/plan_facts.h"
#include "planner/prefix.h"
#include "planner/request_decisions.h"
#include "planner/row_settings.h"
#include "planner/shared_layers.h"
#include "planner/snapshot_prefix.h"
#include "planner/spec_decisions.h"
#include "planner/spec_plans.h"
#include "planner/validate.h"
#include "planner/view_decisions.h"
#include "planner/views.h"
#include "planner/warnings.h"
#include "planner/waste.h"
#include "planner/waste_decisions.h"
#include "planner/working_ranks.h"
#include "planner/workspace.h"

namespace hybridkv {

namespace {

[[noreturn]] void refuse_memory(const CachePlan& plan, const EngineSpec& engine, const CapacityPlan& shortest) {
  const std::int64_t longest = plan.max_fitting_tokens;
  const std::string fitting =
      longest > 0 ? "; the longest request that fits now is " + human_plural(longest, "token") : std::string();
  const std::string length = human_plural(shortest.max_model_len, "token");
  const Demand demand = request_demand(plan, shortest.max_model_len);
  if (engine.num_blocks)
    throw SpecError("engine.num_blocks",
                    fmt::format("{} are too few: one request of {} takes {}, and of each kind one is the null "
                                "block, which nobody gets; give more, or leave it out for those of the memory{}",
                                *engine.num_blocks, length, ids_text(plan, demand), fitting));
  if (!counts_blocks(plan)) {
    std::string way_out = ", or another engine.state_memory_ratio";
    if (plan.rows)
      way_out = plan.rows->unified ? "" : ", or a smaller engine.max_running_requests, among which the cells are split";
    if (plan.strategy == Strategy::two_level) {
      way_out = smaller_large_pages(plan.specs, plan.arenas.front().bytes_per_id, engine);
      if (!way_out.empty()) way_out = "; " + way_out;
    }
    throw SpecError("engine.memory",
                    fmt::format("{} are too little: one request of {} takes {}, and there are {}; all of it "
                                "takes {}, so give more memory{}{}",
                                bytes_text(engine.memory_bytes), length, ids_text(plan, demand),
                                ids_text(plan, all_ids(plan)), bytes_text(shortest.bytes_per_request), way_out,
                                fitting));
  }
  if (!engine.pipeline_memory_bytes.empty())
    throw SpecError("engine.pipeline_memory",
                    fmt::format("the stage with room for the fewest blocks has it for {}: one request of {} "
                                "takes {}, the null block beside them; give that stage more memory{}",
                                plan.num_blocks(), length, shortest.blocks_per_request, fitting));
  const std::int64_t block = plan.arenas.front().bytes_per_id;
  const std::string smallest =
      plan.rules->reserves_null_block
          ? fmt::format("with the null block the smallest that works is {}",
                        bytes_text(Checked(shortest.bytes_per_request) + block))
          : fmt::format("so the smallest that works is {}, and one block more for it to finish beside the null block",
                        bytes_text(shortest.bytes_per_request));
  throw SpecError("engine.memory",
                  fmt::format("{} are too little: one request of {} takes {} of {} bytes, {}{}",
                              bytes_text(engine.memory_bytes), length,
                              human_plural(shortest.blocks_per_request, "block"), block, smallest, fitting));
}

void fill_capacity(CachePlan& plan, const EngineSpec& engine, const LimitsSpec& limits) {
  plan.max_fitting_tokens = longest_request(plan);
  const Demand one_token = request_demand(plan, 1);
  plan.max_running_requests = running_requests(plan, one_token);
  if (plan.tree_pools)
    plan.max_running_requests = std::min(plan.max_running_requests, plan.tree_pools->split.max_running);
  if (plan.pool_groups)
    plan.max_running_requests = std::min(plan.max_running_requests, plan.pool_groups->max_requests);
  plan.max_running_requests_by_states = running_by_states(plan);
  plan.one_token_request_bytes = bytes_of(plan, one_token);
  for (std::int64_t tokens : limits.max_model_lens)
    plan.capacity.push_back(capacity_at(plan, tokens, engine.token_rule));
  const auto shortest = std::min_element(
      plan.capacity.begin(), plan.capacity.end(),
      [](const CapacityPlan& a, const CapacityPlan& b) { return a.blocks_per_request < b.blocks_per_request; });
  // A number of blocks that the user insists on is taken as it is, as engines do; what does not fit is a warning.
  // So is a context longer than the token slots of an engine with tree pools or pool groups, which starts all the
  // same, or than the cells that are asked for.
  const bool asks_cells = plan.rows && engine.own.find(row_key::ctx_size);
  const bool takes_any_number =
      plan.tree_pools || plan.pool_groups || asks_cells || (engine.num_blocks && !plan.rules->reserves_null_block);
  if (shortest->fits || takes_any_number) return;
  if (!plan.cache_order) check_views(plan);  // what no memory helps is said first
  refuse_memory(plan, engine, *shortest);
}

WastePlan waste_of(const Arrangement& arrangement, std::int64_t max_fitting_tokens, const EngineSpec& engine,
                   const LimitsSpec& limits) {
  WastePlan waste;
  waste.per_block = waste_per_block(arrangement);
  std::vector<std::int64_t> load = limits.load_tokens;
  if (load.empty() && max_fitting_tokens > 0) {
    const std::int64_t longest = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
    load = {std::min(longest, max_fitting_tokens)};
  }
  waste.at_load = waste_at_load(arrangement, waste.per_block, load);
  if (!engine.num_blocks)
    waste.unallocated_bytes =
        engine.memory_bytes - (Checked(arrangement.allocated_bytes()) + arrangement.beside_budget_bytes());
  return waste;
}

/// An engine with tree pools sizes them for ranks that cannot share the heads, and then does not load the model.
void warn_unshared_heads(std::vector<Warning>& warnings, const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.rules->tree_pools || engine.pad_heads) return;
  const std::int64_t ranks = engine.tensor_parallel;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.attention || layer.attention->kind == AttentionKind::mla) continue;
    const std::int64_t queries = layer.attention->query_heads, keys = layer.attention->kv_heads;
    if (queries % ranks == 0 && (keys % ranks == 0 || ranks % keys == 0)) continue;
    warnings.push_back({"heads_not_shared",
                        fmt::format("{} sizes its pools for {} ranks, which cannot share {} query heads and {} KV "
                                    "heads, and does not load such a model; take a divisor of both",
                                    engine.rules->title, ranks, queries, keys)});
    return;
  }
}

/// Warns of a model that this release does not serve. It is planned all the same, because earlier releases run it.
void warn_unserved(std::vector<Warning>& warnings, const ModelSpec& model, const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  if (const UnservedModels* const models = unserved_by(rules, model))
    warnings.push_back({"not_served", fmt::format("{} does not serve {}, which {} is: it does not start with it; take "
                                                  "another release", rules.title, models->architecture, model.name)});
}

/// The specs; ranks that cannot share a layer are refused with those that the model can be planned for.
std::vector<SpecPlan> specs_of(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                               Derivation* derivation) {
  try {
    return make_specs(model, engine, derivation);
  } catch (const SpecError& refusal) {
    if (refusal.path() != "engine.tensor_parallel") throw;
    throw with_working_ranks(refusal, model, engine, [&](const EngineSpec& other) {
      make_specs(model, other, nullptr);  // reports its own error, so that no advice is looked for inside of advice
      make_plan(model, other, limits, std::nullopt, PlanDetail::summary);
    });
  }
}

/// Drops the lists of which layers lie where: of a model with many layers they take most of the memory of a plan.
void forget_layers(CachePlan& plan) {
  for (GroupPlan& group : plan.groups) group.pages = {};
  for (PoolPlan& pool : plan.pools) pool.shared_by = {};
}

/// Makes the views. Engines with one allocation plan before they make views, so a layout whose views they refuse is
/// still a plan, one without views.
template <class MakeViews>
void with_views(CachePlan& plan, MakeViews make) {
  if (!plan.cache_order) return make();
  try {
    make();
  } catch (const SpecError& error) {
    plan.view_error = error.what();
  }
}

}  // namespace

CachePlan make_plan(const ModelSpec& model, const EngineSpec& asked, const LimitsSpec& limits,
                    const std::optional<WorkspaceSpec>& workspace, PlanDetail detail) {
  validate(model, asked, limits);
  EngineSpec engine = asked;
  if (!engine.pipeline_memory_bytes.empty())
    engine.memory_bytes = engine.pipeline_memory_bytes[static_cast<std::size_t>(engine.pipeline_rank)];
  if (has_cross_attention(model)) engine.cache_mode = CacheMode::none;  // as the engine says that it does
  const bool derives = detail == PlanDetail::full || detail == PlanDetail::derived;
  Derivation derivation;
  const DerivationLog log = derives ? DerivationLog(derivation, *engine.rules) : DerivationLog();
  if (derives) derive_settings(engine, derivation);
  std::vector<SpecPlan> specs = specs_of(model, engine, limits, derives ? &derivation : nullptr);
  CachePlan plan{arrange(std::move(specs), {model, engine, limits, log})};
  plan.shared_kv = shared_layers(model);
  derive_shared_layers(plan.shared_kv, log);
  if (derives) derive_pages(plan, derivation);
  fill_capacity(plan, engine, limits);
  if (derives) derive_requests(plan, engine.token_rule, derivation);
  plan.prefix = prefix_granularity(plan, engine, log);
  if (plan.pool_groups) derive_copy(plan, log);
  plan.waste = waste_of(plan, plan.max_fitting_tokens, engine, limits);
  if (derives) derive_waste(plan, derivation);
  if (derives) {
    with_views(plan, [&] { plan.views = make_views(plan); });
    if (plan.cache_order)
      derive_allocation_views(plan, plan.views, derivation);
    else
      derive_views(plan, plan.views, derivation);
    if (detail == PlanDetail::derived) plan.views = {};
  } else {
    with_views(plan, [&] { check_views(plan); });
  }
  if (workspace) plan.workspace = workspace_bytes(*workspace, log);
  plan.derivation = std::move(derivation);
  plan.warnings = plan_warnings(plan, limits);
  warn_unshared_heads(plan.warnings, model, engine);
  warn_unserved(plan.warnings, model, engine);
  if (detail == PlanDetail::summary) forget_layers(plan);
  return plan;
}

PlanSet make_plans(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                   std::span<const std::int64_t> pack_sizes, const std::optional<WorkspaceSpec>& workspace,
                   PlanDetail detail) {
  expects(!pack_sizes.empty(), "at least one pack size");
  const bool packs = engine.strategy == Strategy::packed_attention;
  PlanSet set{model.name, engine.tensor_parallel, packs ? "uniform_page" : std::string(to_string(engine.strategy)), {}};
  for (std::int64_t pack_size : pack_sizes) {
    EngineSpec packed = engine;
    packed.attention_pack_size = pack_size;
    set.plans.push_back(make_plan(model, packed, limits, workspace, detail));
    if (packs && pack_size > 1) set.strategy = to_string(engine.strategy);
  }
  for (const DominatedPack& dominated : compare_packs(set.plans).dominated)
    set.plans[dominated.plan].warnings.push_back({"dominated_pack", dominated.reason});
  return set;
}

}  // namespace hybridkv
