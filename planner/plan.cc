#include "planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layout/bytes_text.h"
#include "layout/checked.h"
#include "planner/block_size.h"
#include "planner/capacity.h"
#include "planner/grouping.h"
#include "planner/layer_specs.h"
#include "planner/pack_comparison.h"
#include "planner/prefix.h"
#include "planner/validate.h"
#include "planner/views.h"
#include "planner/warnings.h"
#include "planner/waste.h"
#include "planner/workspace.h"

namespace hybridkv {

namespace {

StateContext state_context(const RecurrentSpec& layer, const ModelSpec& model, const EngineSpec& engine) {
  const DType by_model = model.ssm_dtype.value_or(model.dtype);
  return {engine.tensor_parallel, engine.speculative_tokens, engine.conv_dtype.value_or(model.dtype),
          engine.ssm_dtype.value_or(fixed_ssm_dtype(layer).value_or(by_model))};
}

std::vector<Term> shape_terms(const StateSpec& state) {
  std::vector<Term> terms;
  for (const StateTensor& tensor : state.tensors) {
    std::string shape;
    for (const Axis& axis : tensor.layout.axes())
      shape += fmt::format("{}{}", shape.empty() ? "" : " x ", axis.extent);
    terms.push_back({tensor.name, fmt::format("{} of {}", shape, to_string(tensor.dtype)), ""});
    terms.push_back({tensor.name + " bytes", tensor.bytes(), "bytes"});
  }
  if (state.padding_bytes > 0) terms.push_back({"alignment inside the state", state.padding_bytes, "bytes"});
  return terms;
}

SpecPlan recurrent_spec(const LayerSet& set, const ModelSpec& model, const EngineSpec& engine,
                        const DerivationLog& log) {
  SpecPlan spec;
  spec.state = state_of(*set.recurrent, state_context(*set.recurrent, model, engine));
  spec.unpadded_page_bytes = spec.state->bytes;
  spec.num_pages = static_cast<std::int64_t>(set.layers.size());
  log.add([&] {
    return Decision{{fmt::format("M ({})", set.kind()), spec.state->bytes, "bytes"},
                    "M = sum(product(shape) * element bytes), per rank and layer",
                    shape_terms(*spec.state),
                    "vLLM MambaStateShapeCalculator"};
  });
  return spec;
}

/// Why a token of an attention layer takes the bytes it takes; `bytes`: of a head, where the format has scales.
Decision bytes_per_token_decision(const LayerSet& set, const SpecPlan& spec, const HeadBytes& bytes) {
  const AttentionSpec& layer = *set.attention;
  const bool latent = is_latent(layer.kind);
  const auto& format = spec.attention->format;
  std::vector<Term> inputs{{"KV heads per rank", spec.attention->kv_heads, ""}, {"head_size_k", layer.head_size_k, ""}};
  if (!latent) inputs.push_back({"head_size_v", layer.head_size_v, ""});
  const char* rule = latent ? "a1 = latent elements * element bytes, per token, rank and layer"
                            : "a1 = kv_heads_per_rank * (head_size_k + head_size_v) * element bytes, per token, rank "
                              "and layer";
  if (format) {
    rule = latent ? "a1 = bytes of a latent in this format, scales included, per token, rank and layer"
                  : "a1 = kv_heads_per_rank * (bytes of K + bytes of V), scales included, per token, rank and layer";
    inputs.push_back({"format", std::string(to_string(*format)), ""});
    inputs.push_back({latent ? "latent" : "K of a head", bytes.key, "bytes"});
    if (!latent) inputs.push_back({"V of a head", bytes.value, "bytes"});
  } else {
    inputs.push_back({"element", element_bytes(spec.attention->dtype), "bytes"});
  }
  return {{fmt::format("a1 ({})", set.kind()), spec.bytes_per_token, "bytes"},
          rule,
          std::move(inputs),
          "vLLM FullAttentionSpec.page_size_bytes"};
}

SpecPlan attention_spec(const LayerSet& set, const ModelSpec& model, const EngineSpec& engine,
                        const DerivationLog& log) {
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
  log.add([&] { return bytes_per_token_decision(set, spec, bytes); });
  return spec;
}

/// Specs with everything that does not depend on the block size.
std::vector<SpecPlan> make_specs(const ModelSpec& model, const EngineSpec& engine, const DerivationLog& log) {
  std::vector<SpecPlan> specs;
  for (const LayerSet& set : collect_layer_sets(model, engine)) {
    SpecPlan spec = set.attention ? attention_spec(set, model, engine, log)
                                  : recurrent_spec(set, model, engine, log);
    spec.id = static_cast<std::int64_t>(specs.size());
    spec.kind = set.kind();
    spec.draft = set.draft;
    spec.auxiliary = set.auxiliary;
    spec.layers = set.layers;
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// The chunk that every scan of the model can start on: the least common multiple of the layers' own.
std::optional<std::int64_t> model_scan_chunk(const ModelSpec& model) {
  std::optional<std::int64_t> common;
  for (const LayerSpec& layer : model.layers)
    if (layer.recurrent)
      if (const auto chunk = scan_chunk_tokens(*layer.recurrent)) common = checked_lcm(common.value_or(1), *chunk);
  return common;
}

/// The largest divisor of the block that fits the page.
void size_auxiliary(SpecPlan& spec, std::int64_t block, std::int64_t page_bytes, const DerivationLog& log) {
  const std::int64_t most = page_bytes / spec.bytes_per_token;
  if (most == 0)
    throw SpecError("engine.hidden_state_size", fmt::format("one token takes {} bytes, more than a page of {}",
                                                            spec.bytes_per_token, page_bytes));
  std::int64_t divisor = std::min(most, block);
  while (block % divisor != 0) --divisor;
  spec.block_size_tokens = spec.kernel_block_size_tokens = divisor;
  spec.unpadded_page_bytes = Checked(divisor) * spec.bytes_per_token;
  log.add([&] {
    return Decision{{fmt::format("block of spec {} ({})", spec.id, spec.kind), divisor, "tokens"},
                    "the largest divisor d of B with d * bytes per token <= P",
                    {{"B", block, "tokens"}, {"bytes per token", spec.bytes_per_token, "bytes"},
                     {"P", page_bytes, "bytes"}},
                    "vLLM get_kv_cache_groups"};
  });
}

/// What lies beside the pages, and block ids beside tokens and states, as the model declares them.
std::vector<ExtraPlan> make_extras(const CachePlan& plan, const ModelSpec& model) {
  std::vector<ExtraPlan> extras;
  if (model.indexer_bytes_per_token > 0) {
    Checked bytes = 0;
    for (const SpecPlan& spec : plan.specs)
      if (spec.attention && !spec.draft && !spec.auxiliary && spec.attention->window_tokens == 0)
        bytes += Checked(static_cast<std::int64_t>(spec.layers.size())) * model.indexer_bytes_per_token *
                 spec.block_size_tokens;
    extras.push_back({fmt::format("indexer, {} bytes a token and layer", model.indexer_bytes_per_token), bytes, 0});
  }
  if (model.extra_blocks_per_request > 0)
    extras.push_back({"blocks of each request beside its tokens and states", 0, model.extra_blocks_per_request});
  return extras;
}

/// Block sizes, kernel blocks and the page all specs share; fills them into the plan.
void size_pages(CachePlan& plan, const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                const DerivationLog& log) {
  BlockSizeInputs inputs;
  inputs.pack_size = engine.attention_pack_size;
  inputs.scan_chunk_tokens = model_scan_chunk(model);
  for (const SpecPlan& spec : plan.specs) {
    if (spec.auxiliary) continue;
    if (spec.state) inputs.state_bytes = std::max(inputs.state_bytes, spec.state->bytes);
    inputs.bytes_per_token = std::max(inputs.bytes_per_token, spec.bytes_per_token);
  }
  const std::int64_t block = attention_block_size(inputs, engine, log);
  const bool has_attention = inputs.bytes_per_token > 0;
  const std::int64_t kernel_block = has_attention ? kernel_block_size(block, engine, log) : block;
  const std::int64_t longest = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
  for (SpecPlan& spec : plan.specs) {
    if (spec.attention && spec.auxiliary) continue;  // its block follows the page
    const bool whole_sequence = spec.state && engine.cache_mode == CacheMode::none;
    spec.block_size_tokens = whole_sequence ? longest : block;
    spec.kernel_block_size_tokens = spec.state ? spec.block_size_tokens : kernel_block;
    if (spec.attention)
      spec.unpadded_page_bytes = Checked(spec.layers_per_page) * spec.block_size_tokens * spec.bytes_per_token;
    plan.page_bytes = std::max(plan.page_bytes, spec.unpadded_page_bytes);
  }
  plan.page_bytes = round_up(plan.page_bytes, engine.page_alignment_bytes);
  for (SpecPlan& spec : plan.specs)
    if (spec.attention && spec.auxiliary) size_auxiliary(spec, block, plan.page_bytes, log);
  for (SpecPlan& spec : plan.specs) {
    const std::int64_t padding = plan.page_bytes - spec.unpadded_page_bytes;
    spec.padding_percent = 100.0 * static_cast<double>(padding) / static_cast<double>(spec.unpadded_page_bytes);
  }
  log.add([&] {
    std::vector<Term> pages;
    for (const SpecPlan& spec : plan.specs)
      pages.push_back({fmt::format("{} of spec {} ({})", spec.state ? "M" : "N * B * a1", spec.id, spec.kind),
                       spec.unpadded_page_bytes, "bytes"});
    if (engine.page_alignment_bytes > 1) pages.push_back({"alignment", engine.page_alignment_bytes, "bytes"});
    return Decision{{"P", plan.page_bytes, "bytes"},
                    engine.page_alignment_bytes > 1
                        ? "P = the largest unpadded page, rounded up to the alignment; every other page is padded to it"
                        : "P = the largest unpadded page; every other page is padded to it",
                    std::move(pages),
                    "vLLM HybridAttentionMambaModelConfig; packs: vLLM PR 35703"};
  });
  for (const SpecPlan& spec : plan.specs)
    if (spec.unpadded_page_bytes < plan.page_bytes)
      log.add([&] {
        return Decision{{fmt::format("padding of spec {} ({})", spec.id, spec.kind), spec.padding_percent, "%"},
                        "padding = 100 * (P - unpadded) / unpadded",
                        {{"P", plan.page_bytes, "bytes"}, {"unpadded", spec.unpadded_page_bytes, "bytes"}},
                        "vLLM HybridAttentionMambaModelConfig"};
      });
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
      return Decision{
          {"num_blocks", plan.num_blocks, "blocks"}, "num_blocks = as set by the user", {}, "engine.num_blocks"};
    });
  } else {
    plan.num_blocks = blocks_in_memory(engine.memory_bytes, plan.page_bytes, num_pools, extra_bytes);
    log.add([&] {
      std::vector<Term> terms{
          {"memory", engine.memory_bytes, "bytes"}, {"P", plan.page_bytes, "bytes"}, {"g", num_pools, "pools"}};
      for (const ExtraPlan& extra : plan.extras)
        if (extra.bytes_per_block > 0) terms.push_back({extra.what + ", per block", extra.bytes_per_block, "bytes"});
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

void fill_capacity(CachePlan& plan, const EngineSpec& engine, const LimitsSpec& limits, const DerivationLog& log) {
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
  for (const CapacityPlan& capacity : plan.capacity) {
    log.add([&] {
      std::vector<Term> ids{{"L", capacity.max_model_len, "tokens"}};
      for (const GroupPlan& group : plan.groups) {
        const SpecPlan& spec = plan.specs[group.spec];
        ids.push_back({spec.kind + " group", group_block_ids(plan, spec, capacity.max_model_len), "blocks"});
      }
      for (const ExtraPlan& extra : plan.extras)
        if (extra.blocks_per_request > 0) ids.push_back({extra.what, extra.blocks_per_request, "blocks"});
      return Decision{{"block ids of one request", capacity.blocks_per_request, "blocks"},
                      "ids = sum over the groups: full attention ceil(L/B), recurrent none 1+s, align 2+s, all "
                      "ceil(L/B)+s, sliding window ceil(min(window-1+batch, L)/B)+1",
                      std::move(ids),
                      "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config"};
    });
    log.add([&] {
      return Decision{{"max concurrency", capacity.max_concurrency, ""},
                      "max_concurrency = num_blocks / ids (as engines print it, null block included)",
                      {{"num_blocks", plan.num_blocks, "blocks"},
                       {"ids", capacity.blocks_per_request, "blocks"}},
                      "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config"};
    });
    log.add([&] {
      return Decision{{"KV cache tokens", capacity.kv_cache_tokens, "tokens"},
                      engine.token_rule == TokenRule::floor
                          ? "num_blocks // groups * smallest block of a group (engines up to 0.20)"
                          : "int(max_concurrency * L)",
                      {{"max_concurrency", capacity.max_concurrency, ""}, {"L", capacity.max_model_len, "tokens"}},
                      "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config"};
    });
  }
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

}  // namespace

CachePlan make_plan(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                    const std::optional<WorkspaceSpec>& workspace, PlanDetail detail) {
  validate(model, engine, limits);
  CachePlan plan;
  const DerivationLog log = detail == PlanDetail::full ? DerivationLog(plan.derivation) : DerivationLog();
  plan.attention_pack_size = engine.attention_pack_size;
  plan.cache_mode = engine.cache_mode;
  plan.speculative_tokens = engine.speculative_tokens;
  plan.max_num_batched_tokens = engine.max_num_batched_tokens;
  plan.specs = make_specs(model, engine, log);
  size_pages(plan, model, engine, limits, log);
  const std::int64_t num_pools = pages_per_group(plan.specs, log);
  plan.groups = make_groups(plan.specs, num_pools, log);
  plan.extras = make_extras(plan, model);
  allocate_blocks(plan, engine, num_pools, log);
  plan.pools = make_pools(plan.groups, num_pools, plan.num_blocks, plan.page_bytes);
  fill_capacity(plan, engine, limits, log);
  plan.prefix = prefix_granularity(plan, engine, log);
  fill_waste(plan, engine, limits);
  if (detail == PlanDetail::full)
    plan.views = make_views(plan);
  else
    check_views(plan);
  if (workspace) plan.workspace = workspace_bytes(*workspace, log);
  plan.warnings = plan_warnings(plan, limits);
  return plan;
}

PlanSet make_plans(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                   std::span<const std::int64_t> pack_sizes, const std::optional<WorkspaceSpec>& workspace) {
  expects(!pack_sizes.empty(), "at least one pack size");
  PlanSet set{model.name, engine.tensor_parallel, "uniform_page", {}};
  for (std::int64_t pack_size : pack_sizes) {
    EngineSpec packed = engine;
    packed.attention_pack_size = pack_size;
    set.plans.push_back(make_plan(model, packed, limits, workspace));
    if (pack_size > 1) set.strategy = "packed_attention";
  }
  for (const DominatedPack& dominated : compare_packs(set.plans).dominated)
    set.plans[dominated.plan].warnings.push_back({"dominated_pack", dominated.reason});
  return set;
}

}  // namespace hybridkv
