#include "planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layout/bytes_text.h"
#include "layout/checked.h"
#include "planner/capacity.h"
#include "planner/grouping.h"
#include "planner/layer_specs.h"
#include "planner/pack_comparison.h"
#include "planner/page_sizes.h"
#include "planner/prefix.h"
#include "planner/request_decisions.h"
#include "planner/spec_decisions.h"
#include "planner/state_decisions.h"
#include "planner/sum_rule.h"
#include "planner/validate.h"
#include "planner/view_decisions.h"
#include "planner/views.h"
#include "planner/warnings.h"
#include "planner/waste.h"
#include "planner/waste_decisions.h"
#include "planner/workspace.h"

namespace hybridkv {

namespace {

StateContext state_context(const RecurrentSpec& layer, const ModelSpec& model, const EngineSpec& engine) {
  const DType by_model = model.ssm_dtype.value_or(model.dtype);
  return {engine.tensor_parallel, engine.speculative_tokens, engine.conv_dtype.value_or(model.dtype),
          engine.ssm_dtype.value_or(fixed_ssm_dtype(layer).value_or(by_model))};
}

SpecPlan recurrent_spec(const LayerSet& set, const StateContext& context) {
  SpecPlan spec;
  spec.state = state_of(*set.recurrent, context);
  spec.unpadded_page_bytes = spec.state->bytes;
  spec.num_pages = static_cast<std::int64_t>(set.layers.size());
  return spec;
}

SpecPlan attention_spec(const LayerSet& set, const ModelSpec& model, const EngineSpec& engine) {
  const AttentionSpec& layer = *set.attention;
  const bool hidden = layer.kind == AttentionKind::hidden_state;
  const std::optional<KvFormat> format = hidden ? std::nullopt : engine.kv_format;
  const HeadBytes bytes = format ? head_bytes(layer, *format) : HeadBytes{};
  const DType dtype = format ? DType::uint8 : hidden ? model.dtype : engine.kv_dtype.value_or(model.dtype);
  const bool latent = is_latent(layer.kind);
  const BackendForm form = latent                               ? BackendForm::mla
                           : format && is_side_by_side(*format) ? BackendForm::diff_kv
                                                                : engine.backend_form;
  SpecPlan spec;
  spec.attention = AttentionGeometry{
      .kind = layer.kind,
      .dtype = dtype,
      .format = format,
      .form = form,
      .order = engine.physical_order,
      .query_heads = layer.query_heads == 0 ? 0 : query_heads_per_rank(layer, engine.tensor_parallel),
      .kv_heads = kv_heads_per_rank(layer, engine.tensor_parallel),
      .head_size_k = format ? bytes.key : layer.head_size_k,
      .head_size_v = format ? bytes.value : layer.head_size_v,
      .window_tokens = layer.window_tokens};
  spec.bytes_per_token = format ? kv_bytes_per_token(layer, engine.tensor_parallel, *format)
                                : kv_bytes_per_token(layer, engine.tensor_parallel, dtype);
  spec.layers_per_page = set.auxiliary ? 1 : engine.attention_pack_size;
  spec.num_pages = ceil_div(static_cast<std::int64_t>(set.layers.size()), spec.layers_per_page);
  return spec;
}

/// Specs with everything that does not depend on the block size.
std::vector<SpecPlan> make_specs(const ModelSpec& model, const EngineSpec& engine, Derivation* derivation) {
  std::vector<SpecPlan> specs;
  for (const LayerSet& set : collect_layer_sets(model, engine)) {
    const std::optional<StateContext> context =
        set.recurrent ? std::optional(state_context(*set.recurrent, model, engine)) : std::nullopt;
    SpecPlan spec = context ? recurrent_spec(set, *context) : attention_spec(set, model, engine);
    spec.id = static_cast<std::int64_t>(specs.size());
    spec.kind = set.kind();
    spec.draft = set.draft;
    spec.auxiliary = set.auxiliary;
    spec.layers = set.layers;
    if (derivation != nullptr && context) derive_state(*set.recurrent, *context, spec, *derivation);
    if (derivation != nullptr && set.attention) derive_attention(set, engine, spec, *derivation);
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// What lies beside the pages, and block ids beside tokens and states, as the model declares them.
std::vector<ExtraPlan> make_extras(const CachePlan& plan, const ModelSpec& model, const DerivationLog& log) {
  std::vector<ExtraPlan> extras;
  if (model.indexer_bytes_per_token > 0) {
    Checked bytes = 0;
    SumRule sum;
    for (const SpecPlan& spec : plan.specs) {
      if (!spec.attention || spec.draft || spec.auxiliary || spec.attention->window_tokens > 0) continue;
      const Term layers{fmt::format("layers {}", spec.id), static_cast<std::int64_t>(spec.layers.size()), ""};
      const Term block{fmt::format("block {}", spec.id), spec.block_size_tokens, "tokens"};
      bytes += Checked(std::get<std::int64_t>(layers.value)) * model.indexer_bytes_per_token * spec.block_size_tokens;
      sum.add(fmt::format("indexer * {} * {}", layers.symbol, block.symbol),
              {{"indexer", model.indexer_bytes_per_token, "bytes"}, layers, block});
    }
    extras.push_back({fmt::format("indexer, {} bytes a token and layer", model.indexer_bytes_per_token), bytes, 0});
    log.add([&] {
      return Decision{{"bytes beside each block: " + extras.back().what, bytes, "bytes"}, "bytes = " + sum.text(),
                      sum.inputs(), "model.indexer_bytes_per_token"};
    });
  }
  if (model.extra_blocks_per_request > 0)
    extras.push_back({"blocks of each request beside its tokens and states", 0, model.extra_blocks_per_request});
  return extras;
}

void allocate_blocks(CachePlan& plan, const EngineSpec& engine, std::int64_t num_pools, const DerivationLog& log) {
  std::int64_t extra_bytes = 0;
  for (const ExtraPlan& extra : plan.extras) extra_bytes += extra.bytes_per_block;
  if (engine.num_blocks) {
    plan.num_blocks = *engine.num_blocks;
    const std::int64_t block_bytes = Checked(num_pools) * plan.page_bytes + extra_bytes;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / block_bytes;
    if (plan.num_blocks > most)
      throw SpecError("engine.num_blocks", fmt::format("{} blocks of {} bytes are too large for 64 bits; at most {}",
                                                       plan.num_blocks, block_bytes, most));
    log.add([&] {
      return Decision{{"num_blocks", plan.num_blocks, "blocks"}, "as set by the user", {}, "engine.num_blocks"};
    });
    log.add([&] {
      return Decision{{"memory", plan.num_blocks * block_bytes, "bytes"},
                      "memory = num_blocks * bytes of a block id",
                      {{"num_blocks", plan.num_blocks, "blocks"}, {"bytes of a block id", block_bytes, "bytes"}},
                      "engine.num_blocks"};
    });
  } else {
    plan.num_blocks = blocks_in_memory(engine.memory_bytes, plan.page_bytes, num_pools, extra_bytes);
    log.add([&] {
      std::vector<Term> terms{
          {"memory", engine.memory_bytes, "bytes"}, {"P", plan.page_bytes, "bytes"}, {"g", num_pools, "pools"}};
      if (extra_bytes > 0) terms.push_back({"extra bytes per block", extra_bytes, "bytes"});
      return Decision{{"num_blocks", plan.num_blocks, "blocks"},
                      extra_bytes > 0 ? "num_blocks = floor(memory / (g * P + extra bytes per block))"
                                      : "num_blocks = floor(floor(memory / P) / g)",
                      std::move(terms),
                      "vLLM get_kv_cache_groups"};
    });
  }
  plan.usable_blocks = std::max<std::int64_t>(0, plan.num_blocks - 1);
  log.add([&] {
    return Decision{{"usable blocks", plan.usable_blocks, "blocks"},
                    "usable = num_blocks - 1: block 0 is the null block",
                    {{"num_blocks", plan.num_blocks, "blocks"}},
                    "vLLM get_kv_cache_groups"};
  });
}

[[noreturn]] void refuse_memory(const CachePlan& plan, const EngineSpec& engine, const CapacityPlan& shortest) {
  const std::int64_t needed = shortest.bytes_per_request;
  const std::string fitting =
      plan.max_fitting_tokens > 0 ? fmt::format("; the longest request that fits now is {} tokens", plan.max_fitting_tokens)
                                  : std::string();
  throw SpecError("engine.memory",
                  fmt::format("{} are too little: one request of {} tokens takes {} blocks of {} bytes, so the smallest that "
                              "works is {}, and one block more for it to finish beside the null block{}",
                              bytes_text(engine.memory_bytes), shortest.max_model_len, shortest.blocks_per_request,
                              bytes_per_block_id(plan), bytes_text(needed), fitting));
}

void fill_capacity(CachePlan& plan, const EngineSpec& engine, const LimitsSpec& limits) {
  plan.max_fitting_tokens = longest_request(plan, plan.usable_blocks);
  plan.max_running_requests = plan.usable_blocks / request_block_ids(plan, 1);
  plan.one_token_request_bytes = Checked(request_block_ids(plan, 1)) * bytes_per_block_id(plan);
  Checked state_ids = 0;
  for (const GroupPlan& group : plan.groups)
    if (plan.specs[group.spec].state) state_ids += group_block_ids(plan, plan.specs[group.spec], 1);
  if (state_ids > 0) plan.max_running_requests_by_states = plan.usable_blocks / state_ids;

  for (std::int64_t tokens : limits.max_model_lens)
    plan.capacity.push_back(capacity_at(plan, tokens, engine.token_rule));
  const auto shortest = std::min_element(
      plan.capacity.begin(), plan.capacity.end(),
      [](const CapacityPlan& a, const CapacityPlan& b) { return a.blocks_per_request < b.blocks_per_request; });
  // A number of blocks that the user insists on is taken as it is, as engines do; what does not fit is a warning.
  if (!shortest->fits && !engine.num_blocks) refuse_memory(plan, engine, *shortest);
}

void fill_waste(CachePlan& plan, const EngineSpec& engine, const LimitsSpec& limits) {
  plan.waste.per_block = waste_per_block(plan);
  std::vector<std::int64_t> load = limits.load_tokens;
  if (load.empty() && plan.max_fitting_tokens > 0) {
    const std::int64_t longest = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
    load = {std::min(longest, plan.max_fitting_tokens)};
  }
  plan.waste.at_load = waste_at_load(plan, load);
  if (!engine.num_blocks)
    plan.waste.unallocated_bytes = engine.memory_bytes - Checked(plan.num_blocks) * bytes_per_block_id(plan);
}

/// Which layers lie where, which takes most of the memory of a plan of many layers.
void forget_layers(CachePlan& plan) {
  for (GroupPlan& group : plan.groups) group.pages = {};
  for (PoolPlan& pool : plan.pools) pool.shared_by = {};
}

}  // namespace

CachePlan make_plan(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                    const std::optional<WorkspaceSpec>& workspace, PlanDetail detail) {
  validate(model, engine, limits);
  CachePlan plan;
  const bool derives = detail == PlanDetail::full || detail == PlanDetail::derived;
  const DerivationLog log = derives ? DerivationLog(plan.derivation) : DerivationLog();
  plan.attention_pack_size = engine.attention_pack_size;
  plan.cache_mode = engine.cache_mode;
  plan.speculative_tokens = engine.speculative_tokens;
  plan.max_num_batched_tokens = engine.max_num_batched_tokens;
  if (derives) derive_settings(plan, engine, plan.derivation);
  plan.specs = make_specs(model, engine, derives ? &plan.derivation : nullptr);
  size_pages(plan, model, engine, limits, log);
  const std::int64_t num_pools = pages_per_group(plan.specs, log);
  plan.groups = make_groups(plan.specs, num_pools, log);
  plan.extras = make_extras(plan, model, log);
  allocate_blocks(plan, engine, num_pools, log);
  plan.pools = make_pools(plan.groups, num_pools, plan.num_blocks, plan.page_bytes);
  if (derives) derive_pages(plan, plan.derivation);
  fill_capacity(plan, engine, limits);
  if (derives) derive_requests(plan, engine.token_rule, plan.derivation);
  plan.prefix = prefix_granularity(plan, engine, log);
  fill_waste(plan, engine, limits);
  if (derives) derive_waste(plan, plan.derivation);
  if (derives) {
    plan.views = make_views(plan);
    derive_views(plan, plan.views, plan.derivation);
    if (detail == PlanDetail::derived) plan.views = {};
  } else {
    check_views(plan);
  }
  if (workspace) plan.workspace = workspace_bytes(*workspace, log);
  plan.warnings = plan_warnings(plan, limits);
  if (detail == PlanDetail::summary) forget_layers(plan);
  return plan;
}

PlanSet make_plans(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                   std::span<const std::int64_t> pack_sizes, const std::optional<WorkspaceSpec>& workspace,
                   PlanDetail detail) {
  expects(!pack_sizes.empty(), "at least one pack size");
  PlanSet set{model.name, engine.tensor_parallel, "uniform_page", {}};
  for (std::int64_t pack_size : pack_sizes) {
    EngineSpec packed = engine;
    packed.attention_pack_size = pack_size;
    set.plans.push_back(make_plan(model, packed, limits, workspace, detail));
    if (pack_size > 1) set.strategy = "packed_attention";
  }
  for (const DominatedPack& dominated : compare_packs(set.plans).dominated)
    set.plans[dominated.plan].warnings.push_back({"dominated_pack", dominated.reason});
  return set;
}

}  // namespace hybridkv
