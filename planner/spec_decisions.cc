#include "planner/spec_decisions.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "planner/group_runs.h"
#include "planner/sum_rule.h"

namespace hybridkv {

namespace {

constexpr const char* attention_source = "vLLM FullAttentionSpec.page_size_bytes";
constexpr const char* page_source = "vLLM HybridAttentionMambaModelConfig";
constexpr const char* group_source = "vLLM get_kv_cache_groups";
constexpr const char* own_pool_source = "dual pool, modelled";

Decision given(std::string symbol, std::int64_t value, std::string unit, const char* key) {
  return {{std::move(symbol), value, std::move(unit)}, "as set, or the default", {}, key};
}

void derive_heads(const AttentionSpec& layer, std::int64_t ranks, const SpecPlan& spec, Derivation& derivation) {
  const std::string of = " of " + spec_label(spec);
  const AttentionGeometry& attention = *spec.attention;
  const Term split{"TP", ranks, ""};
  if (is_latent(layer.kind))
    derivation.push_back({{"KV heads" + of, attention.kv_heads, ""}, "1: every rank holds the latent whole", {},
                          attention_source});
  else
    derivation.push_back({{"KV heads" + of, attention.kv_heads, ""}, "KV heads per rank = max(1, KV heads / TP)",
                          {{"KV heads", layer.kv_heads, ""}, split}, attention_source});
  if (attention.query_heads > 0)
    derivation.push_back({{"query heads" + of, attention.query_heads, ""}, "query heads per rank = query heads / TP",
                          {{"query heads", layer.query_heads, ""}, split}, attention_source});
  else
    derivation.push_back({{"query heads" + of, attention.query_heads, ""}, "0: the model does not say", {}, "model"});
  for (const auto& [name, size] : {std::pair{"head_size_k", attention.head_size_k},
                                   std::pair{"head_size_v", attention.head_size_v}})
    derivation.push_back({{name + of, size, attention.format ? "bytes" : "elements"},
                          attention.format ? "bytes of the format, scales included" : "as the model has it",
                          {},
                          attention.format ? attention_source : "model"});
  derivation.push_back({{"window" + of, attention.window_tokens, "tokens"},
                        attention.window_tokens > 0 ? "as the model has it" : "0: there is none", {}, "model"});
}

void derive_page(const Arrangement& plan, const SpecPlan& spec, Derivation& derivation) {
  const std::string of = " of " + spec_label(spec);
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  derivation.push_back({{"layers" + of, layers, ""},
                        "counted in the model, MTP layers and drafts as the engine adds them",
                        {},
                        group_source});
  derivation.push_back({{"layers a page" + of, spec.layers_per_page, ""},
                        spec.is_packed() ? "layers a page = N" : "1: only attention is packed",
                        spec.is_packed() ? std::vector<Term>{{"N", plan.attention_pack_size, ""}} : std::vector<Term>{},
                        "vLLM PR 35703"});
  derivation.push_back({{"pages" + of, spec.num_pages, ""}, "pages = ceil(layers / layers a page)",
                        {{"layers", layers, ""}, {"layers a page", spec.layers_per_page, ""}}, "vLLM PR 35703"});
  if (spec.state)
    derivation.push_back({{"unpadded page" + of, spec.unpadded_page_bytes, "bytes"}, "unpadded = M",
                          {{"M", spec.state->bytes, "bytes"}}, page_source});
  else
    derivation.push_back({{"unpadded page" + of, spec.unpadded_page_bytes, "bytes"},
                          "unpadded = layers a page * block * a1",
                          {{"layers a page", spec.layers_per_page, ""}, {"block", spec.block_size_tokens, "tokens"},
                           {"a1", spec.bytes_per_token, "bytes"}},
                          "vLLM PR 35703"});
}

void derive_run(const Arrangement& plan, const PlanRun& run, Derivation& derivation) {
  const GroupPlan& group = plan.groups[run.first];
  const SpecPlan& spec = plan.specs[static_cast<std::size_t>(group.spec)];
  std::size_t first_of_spec = run.first, groups = 0;
  while (first_of_spec > 0 && plan.groups[first_of_spec - 1].spec == group.spec) --first_of_spec;
  for (const GroupPlan& other : plan.groups) groups += other.spec == group.spec ? 1 : 0;
  const std::string of = fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers());
  const auto pages = static_cast<std::int64_t>(group.pages.size());
  derivation.push_back({{"pages" + of, pages, ""},
                        "pages of a group = ceil((pages - i) / groups): group i of a spec takes pages i, i + groups, …",
                        {{"pages", spec.num_pages, ""}, {"i", static_cast<std::int64_t>(run.first - first_of_spec), ""},
                         {"groups", static_cast<std::int64_t>(groups), ""}},
                        group_source});
  derivation.push_back({{"empty slots" + of, group.padding_slots, ""}, "empty slots = g - pages",
                        {{"g", pages + group.padding_slots, "pools"}, {"pages", pages, ""}}, group_source});
}

/// What an id costs in all lanes of its arena and beside them.
void derive_id(const Arrangement& plan, std::size_t number, const std::string& symbol, Derivation& derivation) {
  std::int64_t lanes = 0, page = 0;
  for (const LanePlan& lane : plan.lanes)
    if (lane.arena.index() == number) ++lanes, page = lane.bytes;
  SumRule id;
  if (plan.is_uniform())
    id.add("g * P", {{"g", lanes, "pools"}, {"P", page, "bytes"}});
  else
    id.add("lanes * page", {{"lanes", lanes, ""}, {"page", page, "bytes"}});
  std::size_t extras = 0;
  for (const ExtraPlan& extra : plan.extras) {
    if (extra.bytes_per_block == 0 || number != 0) continue;
    const std::string beside = fmt::format("extra {}", extras++);
    id.add(beside, {{beside, extra.bytes_per_block, "bytes"}});
  }
  derivation.push_back({{symbol, plan.arenas[number].bytes_per_id, "bytes"}, "bytes = " + id.text(), id.inputs(),
                        plan.is_uniform() ? group_source : own_pool_source});
}

void derive_pools(const Arrangement& plan, Derivation& derivation) {
  for (const ExtraPlan& extra : plan.extras)
    if (extra.blocks_per_request > 0)
      derivation.push_back({{extra.what, extra.blocks_per_request, "blocks"}, "as the model has it", {},
                            "model.extra_blocks_per_request"});
  if (plan.is_uniform()) {
    derive_id(plan, 0, "bytes of a block id", derivation);
    const Term page{"P", plan.page_bytes(), "bytes"};
    derivation.push_back({{"bytes of a pool", Checked(plan.num_blocks()) * plan.page_bytes(), "bytes"},
                          "bytes = num_blocks * P", {{"num_blocks", plan.num_blocks(), "blocks"}, page}, group_source});
    return;
  }
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    const ArenaPlan& of = plan.arenas[arena];
    derive_id(plan, arena, "bytes of an id of " + of.name, derivation);
    derivation.push_back({{"usable ids of " + of.name, of.usable_ids(), "ids"}, "usable = ids - 1: id 0 is the null id",
                          {{"ids", of.num_ids, "ids"}}, own_pool_source});
  }
  for (const GroupPlan& group : plan.groups) {
    const ArenaPlan& arena = plan.arena_of(group);
    derivation.push_back(
        {{"bytes of a lane of " + arena.name, Checked(arena.num_ids) * plan.page_bytes(group), "bytes"},
         "bytes = ids * page: lane j of a pool begins j times as far",
         {{"ids", arena.num_ids, "ids"}, {"page", plan.page_bytes(group), "bytes"}},
         own_pool_source});
    const std::int64_t lanes = plan.spec_of(group).state ? static_cast<std::int64_t>(group.pages.size()) : 1;
    const PoolPlan& pool = plan.pools[plan.lanes[group.first_lane.index()].pool.index()];
    derivation.push_back(
        {{"bytes of a pool of " + arena.name, pool.bytes, "bytes"},
         "bytes = lanes of the pool * ids * page",
         {{"lanes of the pool", lanes, ""}, {"ids", arena.num_ids, "ids"}, {"page", plan.page_bytes(group), "bytes"}},
         own_pool_source});
  }
}

}  // namespace

void derive_settings(const EngineSpec& engine, Derivation& derivation) {
  derivation.push_back(given("TP", engine.tensor_parallel, "", "engine.tensor_parallel"));
  derivation.push_back(given("N", engine.attention_pack_size, "", "engine.attention_pack_size"));
  derivation.push_back(given("s", engine.speculative_tokens, "tokens", "engine.speculative_tokens"));
  derivation.push_back(given("batch", engine.max_num_batched_tokens, "tokens", "engine.max_num_batched_tokens"));
  if (!engine.num_blocks) derivation.push_back(given("memory", engine.memory_bytes, "bytes", "engine.memory"));
}

void derive_attention(const LayerSet& set, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation) {
  const AttentionSpec& layer = *set.attention;
  derive_heads(layer, engine.tensor_parallel, spec, derivation);
  const bool latent = is_latent(layer.kind);
  const AttentionGeometry& attention = *spec.attention;
  const auto& format = attention.format;
  std::vector<Term> inputs{{"KV heads per rank", attention.kv_heads, ""}, {"head_size_k", layer.head_size_k, ""}};
  if (!latent) inputs.push_back({"head_size_v", layer.head_size_v, ""});
  std::string rule = latent
                         ? "a1 = head_size_k * element: one latent, per token, rank and layer"
                         : "a1 = KV heads per rank * (head_size_k + head_size_v) * element, per token, rank and layer";
  if (format) {
    rule = latent ? "a1 = latent: the bytes of this format, scales included, per token, rank and layer"
                  : "a1 = KV heads per rank * (K of a head + V of a head), scales included, per token, rank and layer";
    inputs.push_back({"format", std::string(to_string(*format)), ""});
    inputs.push_back({latent ? "latent" : "K of a head", attention.head_size_k, "bytes"});
    if (!latent) inputs.push_back({"V of a head", attention.head_size_v, "bytes"});
  } else {
    inputs.push_back({"element", element_bytes(attention.dtype), "bytes"});
  }
  derivation.push_back({{fmt::format("a1 ({})", spec.kind), spec.bytes_per_token, "bytes"}, std::move(rule),
                        std::move(inputs), attention_source});
}

void derive_pages(const Arrangement& plan, Derivation& derivation) {
  for (const SpecPlan& spec : plan.specs) derive_page(plan, spec, derivation);
  for (const PlanRun& run : group_runs(plan)) derive_run(plan, run, derivation);
  derive_pools(plan, derivation);
}

}  // namespace hybridkv
