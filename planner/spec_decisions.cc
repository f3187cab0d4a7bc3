#include "planner/spec_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "planner/group_runs.h"
#include "planner/prefix.h"
#include "planner/strategies.h"
#include "planner/sum_rule.h"

namespace hybridkv {

namespace {

std::string group_source(const Arrangement& plan) { return cited(*plan.rules, RuleOf::groups); }

/// Who says where the pages of an arrangement that is not uniform lie.
std::string place_source(const Arrangement& plan) {
  const RuleOf by_strategy = plan.strategy == Strategy::dual_pool ? RuleOf::own_pools : rule_of(plan.strategy);
  return cited(*plan.rules, plan.cache_order ? RuleOf::allocation : by_strategy);
}

Decision given(std::string symbol, std::int64_t value, std::string unit, const char* key) {
  return {{std::move(symbol), value, std::move(unit)}, "as set, or the default", {}, key};
}

void derive_heads(const AttentionSpec& layer, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation) {
  const std::string of = " of " + spec_label(spec);
  const AttentionGeometry& attention = *spec.attention;
  const Term split{"TP", engine.tensor_parallel, ""};
  const std::string attention_source = cited(*engine.rules, RuleOf::attention_bytes);
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
    derivation.push_back({{name + of, size, counts_bytes(attention) ? "bytes" : "elements"},
                          counts_bytes(attention) ? "bytes of the format, scales included" : "as the model has it",
                          {},
                          counts_bytes(attention) ? attention_source : "model"});
  derivation.push_back({{"window" + of, attention.window_tokens, "tokens"},
                        attention.window_tokens > 0 ? "as the model has it" : "0: there is none", {}, "model"});
  if (spec.is_cross())
    derivation.push_back({{"encoder tokens" + of, spec.encoder_tokens, "tokens"},
                          engine.encoder_tokens ? "as set: those of a request" : "the most that the encoder reads", {},
                          engine.encoder_tokens ? "engine.encoder_tokens" : "model.encoder_tokens"});
}

/// c, in releases that count it.
void derive_checkpoint(const Arrangement& plan, const SpecPlan& spec, Derivation& derivation) {
  if (!spec.state || plan.cache_mode != CacheMode::align || !plan.rules->counts_checkpoint_blocks) return;
  derivation.push_back({{"checkpoint blocks of " + spec_label(spec), spec.checkpoint_blocks, "blocks"},
                        spec.checkpoint_blocks > 0
                            ? "1: the scan exports a state inside a chunk, into a block of its own"
                            : "0: the scan exports no state inside a chunk",
                        plan.backend_profile
                            ? std::vector<Term>{{"profile", std::string(to_string(*plan.backend_profile)), ""}}
                            : std::vector<Term>{},
                        cited(*plan.rules, RuleOf::exported_states)});
}

void derive_page(const Arrangement& plan, const SpecPlan& spec, Derivation& derivation) {
  derive_checkpoint(plan, spec, derivation);
  const std::string of = " of " + spec_label(spec);
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  derivation.push_back({{"layers" + of, layers, ""},
                        "counted in the model, MTP layers and drafts as the engine adds them",
                        {},
                        group_source(plan)});
  if (plan.strategy == Strategy::two_level && spec.is_packed())
    derivation.push_back({{"layers a page" + of, spec.layers_per_page, ""},
                          "layers a page = layers: a small page holds all of its kind", {{"layers", layers, ""}},
                          place_source(plan)});
  else
    derivation.push_back(
        {{"layers a page" + of, spec.layers_per_page, ""},
         spec.is_packed() ? "layers a page = N" : "1: only attention is packed",
         spec.is_packed() ? std::vector<Term>{{"N", plan.attention_pack_size, ""}} : std::vector<Term>{},
         cited(*plan.rules, RuleOf::packs)});
  derivation.push_back({{"pages" + of, spec.num_pages, ""}, "pages = ceil(layers / layers a page)",
                        {{"layers", layers, ""}, {"layers a page", spec.layers_per_page, ""}},
                        cited(*plan.rules, RuleOf::packs)});
  if (spec.tokens_per_entry > 1)
    derivation.push_back({{"tokens an entry" + of, spec.tokens_per_entry, "tokens"},
                          "as the model's indexer pools them", {}, cited(*plan.rules, RuleOf::packs)});
  if (spec.state)
    derivation.push_back({{"unpadded page" + of, spec.unpadded_page_bytes, "bytes"}, "unpadded = M",
                          {{"M", spec.state->bytes, "bytes"}}, cited(*plan.rules, RuleOf::blocks)});
  else if (spec.tokens_per_entry > 1)
    derivation.push_back({{"unpadded page" + of, spec.unpadded_page_bytes, "bytes"},
                          "unpadded = block / tokens an entry * a1",
                          {{"block", spec.block_size_tokens, "tokens"},
                           {"tokens an entry", spec.tokens_per_entry, "tokens"},
                           {"a1", spec.bytes_per_token, "bytes"}},
                          cited(*plan.rules, RuleOf::packs)});
  else
    derivation.push_back({{"unpadded page" + of, spec.unpadded_page_bytes, "bytes"},
                          "unpadded = layers a page * block * a1",
                          {{"layers a page", spec.layers_per_page, ""}, {"block", spec.block_size_tokens, "tokens"},
                           {"a1", spec.bytes_per_token, "bytes"}},
                          cited(*plan.rules, RuleOf::packs)});
}

/// Where the pages of a group lie in an id, beside a lane a page.
void derive_place(const Arrangement& plan, const GroupPlan& group, const std::string& of, Derivation& derivation) {
  const auto add = [&](const char* what, std::int64_t value, const char* unit, const char* rule,
                       std::vector<Term> inputs) {
    derivation.push_back({{what + of, value, unit}, rule, std::move(inputs), place_source(plan)});
  };
  if (group.lanes_per_page > 1)
    add("lanes a page", group.lanes_per_page, "", "one a head: heads are outside the blocks", {});
  if (group.in_lane) {
    add(plan.cache_order ? "first byte in a block" : "first byte in an entry", group.in_lane->first, "bytes",
        group.in_lane->first == 0 ? "0: its table begins with it" : "the pages of the table that lie before it", {});
    const char* of_what = group.tensor ? "the page of its tensor" : "the page of its spec";
    add("page", group.in_lane->bytes, "bytes", group.tensor ? "page = the page of its tensor"
                                                            : "page = the page of its spec",
        {{of_what, group.in_lane->bytes, "bytes"}});
  }
  if (group.hole_bytes > 0) {
    const std::int64_t block = plan.lanes[group.first_lane.index()].bytes;
    add("hole", group.hole_bytes, "bytes", "hole = W - pages of the table",
        {{"W", block, "bytes"}, {"pages of the table", block - group.hole_bytes, "bytes"}});
  }
}

/// How many groups of one allocation have layers of a spec.
void derive_tables(const Arrangement& plan, const SpecPlan& spec, Derivation& derivation) {
  std::int64_t groups = 0, widest = 0;
  for (const GroupPlan& group : plan.groups) {
    if (group.spec != spec.id) continue;
    ++groups;
    widest = std::max(widest, static_cast<std::int64_t>(group.pages.size()) + group.padding_positions);
  }
  const Term result{"groups of " + spec_label(spec), groups, ""};
  if (plan.is_uniform() && widest > 0 && ceil_div(spec.num_pages, widest) == groups)
    derivation.push_back({result, "groups = ceil(pages / g)",
                          {{"pages", spec.num_pages, ""}, {"g", widest, ""}}, group_source(plan)});
  else
    derivation.push_back({result,
                          "as many tables as layers of one kind, block and window fall into, so that their pages fill "
                          "a block; over the layers of all stages",
                          {}, group_source(plan)});
}

void derive_run(const Arrangement& plan, const PlanRun& run, Derivation& derivation) {
  const GroupPlan& group = plan.groups[run.first];
  const SpecPlan& spec = plan.specs[static_cast<std::size_t>(group.spec)];
  std::int64_t before = 0, groups = 0;
  for (std::size_t other = 0; other < plan.groups.size(); ++other) {
    if (plan.groups[other].spec != group.spec) continue;
    before += other < run.first ? 1 : 0;
    ++groups;
  }
  const std::string of = fmt::format(" of group{} {}", run.count > 1 ? "s" : "", run.numbers());
  const auto pages = static_cast<std::int64_t>(group.pages.size());
  if (group.tensor)
    derivation.push_back({{"pages" + of, pages, ""}, "pages of a group = pages: the tensor of every layer",
                          {{"pages", spec.num_pages, ""}}, group_source(plan)});
  else if (pages == ceil_div(spec.num_pages - before, groups))
    derivation.push_back(
        {{"pages" + of, pages, ""},
         "pages of a group = ceil((pages - i) / groups): group i of a spec takes pages i, i + groups, …",
         {{"pages", spec.num_pages, ""}, {"i", before, ""}, {"groups", groups, ""}},
         group_source(plan)});
  else
    derivation.push_back({{"pages" + of, pages, ""},
                          "the pages of the group that are on this stage: groups are made of the layers of all stages",
                          {},
                          group_source(plan)});
  derivation.push_back({{"empty slots" + of, group.padding_positions, ""}, "empty slots = g - pages",
                        {{"g", pages + group.padding_positions, "pools"}, {"pages", pages, ""}},
                        group_source(plan)});
  derive_place(plan, group, of, derivation);
}

/// What an id costs in all lanes of its arena and beside them.
void derive_id(const Arrangement& plan, std::size_t number, const std::string& symbol, Derivation& derivation) {
  std::int64_t lanes = 0, page = 0;
  for (const LanePlan& lane : plan.lanes)
    if (lane.arena.index() == number) ++lanes, page = lane.bytes;
  SumRule id;
  if (keeps_tensors_apart(plan.strategy))
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
      if (plan.groups[i].arena.index() != number) continue;
      const std::string pages = fmt::format("pages {}", i), each = fmt::format("page {}", i);
      id.add(pages + " * " + each, {{pages, static_cast<std::int64_t>(plan.groups[i].pages.size()), ""},
                                    {each, plan.page_bytes(plan.groups[i]), "bytes"}});
    }
  else if (plan.cache_order)
    id.add("W", {{"W", plan.arenas[number].bytes_per_id - plan.extra_bytes_per_id(), "bytes"}});
  else if (plan.is_uniform())
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
                        plan.is_uniform() && !plan.cache_order ? group_source(plan) : place_source(plan)});
}

/// The one allocation, and its pages where they differ.
void derive_allocation(const Arrangement& plan, Derivation& derivation) {
  derive_id(plan, 0, "bytes of a block id", derivation);
  const std::int64_t block = plan.arenas.front().bytes_per_id;
  derivation.push_back({{"bytes of a pool", plan.pool_bytes(), "bytes"}, "bytes = num_blocks * W",
                        {{"num_blocks", plan.num_blocks(), "blocks"}, {"W", block, "bytes"}},
                        cited(*plan.rules, RuleOf::allocation)});
  if (plan.is_uniform()) return;
  std::set<std::int64_t> told;
  for (const GroupPlan& group : plan.groups) {
    if (!told.insert(group.spec).second) continue;
    const SpecPlan& spec = plan.spec_of(group);
    const std::int64_t page = plan.page_bytes(group);
    derivation.push_back({{"page of " + spec_label(spec), page, "bytes"},
                          page == spec.unpadded_page_bytes
                              ? "page = unpadded: pages of all sizes lie side by side"
                              : "page = the largest page of a block of the model's own attention, to which states are "
                                "padded",
                          {{"unpadded", spec.unpadded_page_bytes, "bytes"}},
                          group_source(plan)});
  }
}

/// One pool in which the ids of all arenas lie.
void derive_shared_pool(const Arrangement& plan, Derivation& derivation) {
  for (const LanePlan& lane : plan.lanes) {
    const ArenaPlan& arena = plan.arenas[lane.arena.index()];
    if (&lane != &plan.lanes.front() && lane.arena == (&lane - 1)->arena) continue;
    derivation.push_back({{"bytes of a lane of " + arena.name, Checked(arena.num_ids) * lane.bytes, "bytes"},
                          "bytes = ids * piece: the next lane begins behind it",
                          {{"ids", arena.num_ids, "ids"}, {"piece", lane.bytes, "bytes"}}, place_source(plan)});
    derivation.push_back({{"bytes of a piece of " + arena.name, lane.bytes, "bytes"},
                          plan.strategy == Strategy::two_level ? "piece = large page"
                          : lane.bytes == arena.bytes_per_id   ? "piece = all that an id owns"
                                                               : "piece = page of the spec",
                          {}, place_source(plan)});
  }
  SumRule sum;
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    const std::int64_t beside = arena == 0 ? plan.extra_bytes_per_id() : 0;
    const std::string ids = fmt::format("ids {}", arena), each = fmt::format("pieces of an id {}", arena);
    sum.add(ids + " * " + each, {{ids, plan.arenas[arena].num_ids, "ids"},
                                 {each, plan.arenas[arena].bytes_per_id - beside, "bytes"}});
  }
  derivation.push_back({{"bytes of the allocation", plan.pool_bytes(), "bytes"}, "bytes = " + sum.text(), sum.inputs(),
                        place_source(plan)});
}

void derive_pools(const Arrangement& plan, Derivation& derivation) {
  for (const ExtraPlan& extra : plan.extras)
    if (extra.blocks_per_request > 0)
      derivation.push_back({{extra.what, extra.blocks_per_request, "blocks"}, "as the model has it", {},
                            "model.extra_blocks_per_request"});
  if (plan.cache_order) return derive_allocation(plan, derivation);
  if (plan.is_uniform()) {
    derive_id(plan, 0, "bytes of a block id", derivation);
    const Term page{"P", plan.page_bytes(), "bytes"};
    derivation.push_back({{"bytes of a pool", Checked(plan.num_blocks()) * plan.page_bytes(), "bytes"},
                          "bytes = num_blocks * P", {{"num_blocks", plan.num_blocks(), "blocks"}, page},
                          group_source(plan)});
    return;
  }
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    const ArenaPlan& of = plan.arenas[arena];
    derive_id(plan, arena, "bytes of an id of " + of.name, derivation);
    derivation.push_back({{"usable ids of " + of.name, of.usable_ids(), "ids"},
                          of.has_null_id ? "usable = ids - 1: id 0 is the null id"
                                         : "usable = ids: there is no null id",
                          {{"ids", of.num_ids, "ids"}}, place_source(plan)});
  }
  if (is_one_allocation(plan.strategy)) return derive_shared_pool(plan, derivation);
  for (const GroupPlan& group : plan.groups) {
    const ArenaPlan& arena = plan.arena_of(group);
    derivation.push_back(
        {{"bytes of a lane of " + arena.name, Checked(arena.num_ids) * plan.page_bytes(group), "bytes"},
         plan.strategy == Strategy::pool_groups
             ? "bytes = ids * page: those of lane j lie j pages behind those of lane 0"
             : "bytes = ids * page: lane j of a pool begins j times as far",
         {{"ids", arena.num_ids, "ids"}, {"page", plan.page_bytes(group), "bytes"}},
         cited(*plan.rules, RuleOf::own_pools)});
    const PoolId of_first = plan.lanes[group.first_lane.index()].pool;
    std::int64_t lanes = 0;
    for (std::size_t page = 0; page < group.pages.size(); ++page)
      lanes += plan.lanes[plan.lane_of(group, page).index()].pool == of_first ? 1 : 0;
    const PoolPlan& pool = plan.pools[of_first.index()];
    derivation.push_back(
        {{"bytes of a pool of " + arena.name, pool.bytes, "bytes"},
         "bytes = lanes of the pool * ids * page",
         {{"lanes of the pool", lanes, ""}, {"ids", arena.num_ids, "ids"}, {"page", plan.page_bytes(group), "bytes"}},
         cited(*plan.rules, RuleOf::own_pools)});
  }
}

}  // namespace

void derive_settings(const EngineSpec& engine, Derivation& derivation) {
  derivation.push_back(given("TP", engine.tensor_parallel, "", "engine.tensor_parallel"));
  derivation.push_back(given("N", engine.attention_pack_size, "", "engine.attention_pack_size"));
  derivation.push_back(given("s", engine.speculative_tokens, "tokens", "engine.speculative_tokens"));
  derivation.push_back(given("batch", engine.max_num_batched_tokens, "tokens", "engine.max_num_batched_tokens"));
  if (engine.backend_profile)
    derivation.push_back({{"profile", std::string(to_string(*engine.backend_profile)), ""},
                          fmt::format("what the backends of this profile declare ({}): kernel blocks, orders, exported "
                                      "states", facts_of(*engine.backend_profile).backend),
                          {}, "engine.backend_profile"});
  const EngineRules& rules = *engine.rules;
  if (const std::int64_t batches = engine.concurrent_batches.value_or(rules.concurrent_batches); batches != 1)
    derivation.push_back({{"batches in flight", batches, ""},
                          "as set, or what the release has: steps whose tokens are in flight together", {},
                          fmt::format("engine.concurrent_batches; {}", rules.title)});
  if (const std::int64_t ahead = tokens_looked_ahead(engine); ahead > 0)
    derivation.push_back({{"tokens looked ahead", ahead, "tokens"},
                          engine.mtp_layers > 1 ? "s: the key of a prefix covers what each module of the drafter reads"
                                                : "1: the key of a prefix covers what a drafter of one module reads",
                          {{"s", engine.speculative_tokens, "tokens"}}, cited(rules, RuleOf::lookahead)});
  if (engine.decode_context_parallel != 1)
    derivation.push_back(given("DCP", engine.decode_context_parallel, "", "engine.decode_context_parallel"));
  if (!engine.num_blocks) derivation.push_back(given("memory", engine.memory_bytes, "bytes", "engine.memory"));
}

void derive_attention(const LayerSet& set, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation) {
  const AttentionSpec& layer = *set.attention;
  derive_heads(layer, engine, spec, derivation);
  const bool latent = is_latent(layer.kind);
  const AttentionGeometry& attention = *spec.attention;
  std::vector<Term> inputs{{"KV heads per rank", attention.kv_heads, ""}, {"head_size_k", layer.head_size_k, ""}};
  if (!latent) inputs.push_back({"head_size_v", layer.head_size_v, ""});
  std::string rule = latent
                         ? "a1 = head_size_k * element: one latent, per token, rank and layer"
                         : "a1 = KV heads per rank * (head_size_k + head_size_v) * element, per token, rank and layer";
  if (counts_bytes(attention)) {
    rule = latent ? "a1 = latent: the bytes of this format, scales included, per token, rank and layer"
                  : "a1 = KV heads per rank * (K of a head + V of a head), scales included, per token, rank and layer";
    inputs.push_back({"format", stored_as(attention), ""});
    inputs.push_back({latent ? "latent" : "K of a head", attention.head_size_k, "bytes"});
    if (!latent) inputs.push_back({"V of a head", attention.head_size_v, "bytes"});
  } else {
    inputs.push_back({"element", element_bytes(attention.dtype), "bytes"});
  }
  derivation.push_back({{fmt::format("a1 ({})", spec.kind), spec.bytes_per_token, "bytes"}, std::move(rule),
                        std::move(inputs), cited(*engine.rules, RuleOf::attention_bytes)});
}

void derive_ring(const ModelSpec& model, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation) {
  const std::string label = spec_label(spec);
  const Term tokens{"tokens", spec.ring_tokens, "tokens"}, bytes{"bytes", model.ring_bytes_per_token, "bytes"};
  const auto add = [&](std::string symbol, std::int64_t value, const char* unit, const char* rule,
                       std::vector<Term> inputs) {
    derivation.push_back({{std::move(symbol), value, unit}, rule, std::move(inputs),
                          cited(*engine.rules, RuleOf::ring)});
  };
  derivation.push_back({{"tokens of " + label, spec.ring_tokens, "tokens"},
                        "tokens = the ring's + s, rounded up to a multiple of the ring's",
                        {{"the ring's", model.ring_tokens, "tokens"}, {"s", engine.speculative_tokens, "tokens"}},
                        cited(*engine.rules, RuleOf::ring_tokens)});
  add("block of " + label, spec.ring_tokens, "tokens", "block = tokens: the ring is one block", {tokens});
  add("kernel block of " + label, spec.ring_tokens, "tokens", "kernel block = tokens: no kernel splits it", {tokens});
  add("token of ring, " + label, spec.ring_tokens, "", "token = tokens", {tokens});
  add("byte of ring, " + label, model.ring_bytes_per_token, "", "byte = bytes", {bytes});
  add(fmt::format("M ({})", spec.kind), spec.unpadded_page_bytes, "bytes", "M = tokens * bytes", {tokens, bytes});
  add("byte offset of ring, " + label, 0, "bytes", "0: the only tensor begins with the page", {});
  add("gaps inside the state, " + label, 0, "bytes", "0: the only tensor fills the page", {});
}

void derive_pages(const Arrangement& plan, Derivation& derivation) {
  for (const SpecPlan& spec : plan.specs) derive_page(plan, spec, derivation);
  if (plan.cache_order)
    for (const SpecPlan& spec : plan.specs) derive_tables(plan, spec, derivation);
  for (const PlanRun& run : group_runs(plan)) derive_run(plan, run, derivation);
  derive_pools(plan, derivation);
}

}  // namespace hybridkv
