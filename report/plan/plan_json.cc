#include "report/plan/plan_json.h"

#include "base/checked.h"
#include "planner/allocated_tensors.h"
#include "planner/uniform_pages.h"
#include "report/json_schema.h"
#include "report/json_text.h"
#include "report/plan/capacity_json.h"
#include "report/plan/group_json.h"
#include "report/plan/kernel_json.h"
#include "report/plan/plan_references.h"
#include "report/plan/pool_groups_json.h"
#include "report/plan/spec_json.h"
#include "report/plan/tensor_pools_json.h"
#include "report/plan/tree_pools_json.h"
#include "report/plan/view_json.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<CacheMode> = all_cache_modes;
template <>
inline constexpr auto enum_values<Strategy> = all_strategies;
template <>
inline const auto enum_values<const EngineRules*> = all_engine_rules();
template <>
inline constexpr auto enum_values<BackendProfile> = all_backend_profiles;
template <>
inline constexpr auto enum_values<CacheOrder> = all_cache_orders;

template <class Archive, Is<WorkspaceSpec> T>
static void fields(Archive& archive, T& batch) {
  archive.named("batch", "What a step attends to.");
  archive("query_tokens", batch.query_tokens, {"Query tokens of the step.", 1});
  archive("shared_blocks", batch.shared_blocks, {"Cached blocks used by more than one query token.", 1});
  archive("block_size_tokens", batch.block_size_tokens, {"Tokens of a block.", 1});
  archive("chunk_blocks", batch.chunk_blocks, {"Blocks of one chunk.", 1});
  archive("dtype", batch.dtype, "Element type.");
}

template <class Archive, Is<WorkspacePlan> T>
static void fields(Archive& archive, T& workspace) {
  archive.named("workspace", "Bytes of the attention biases of a stated batch; null where none was stated.");
  archive("batch", workspace.batch);
  archive("full_bias_bytes", workspace.full_bias_bytes, "(query, shared blocks, block).");
  archive("chunked_bias_bytes", workspace.chunked_bias_bytes, "(query, chunk, block).");
  archive("block_usage_bytes", workspace.block_usage_bytes, "(query, shared blocks rounded up to the chunk), int32.");
}

template <class Archive, Is<Term> T>
static void fields(Archive& archive, T& term) {
  archive.named("term", "A number or word of a derivation.");
  archive("symbol", term.symbol, "As the rules write it.");
  archive("value", term.value, "A number or a word.");
  archive("unit", term.unit, "bytes, tokens, blocks, ... or empty.");
}

template <class Archive, Is<Decision> T>
static void fields(Archive& archive, T& decision) {
  archive.named("decision", "Why one number is what it is.");
  archive("result", decision.result);
  archive("rule", decision.rule, "The formula in the symbols of the inputs.");
  archive("inputs", decision.inputs, "What went in.");
  archive("source", decision.source, "Who says so.");
}

template <class Archive, Is<Warning> T>
static void fields(Archive& archive, T& warning) {
  archive.named("warning", "Something legal that the user would want to know.");
  archive("code", warning.code, "Stable name.");
  archive("message", warning.message, "One sentence with the numbers and the reason.");
}

/// What a uniform page alone says of arenas and lanes.
static void set_plain(Arrangement& arrangement, std::int64_t page_bytes, std::int64_t num_blocks) {
  arrangement.arenas.clear();
  arrangement.lanes.clear();
  set_only_arena(arrangement, page_bytes, num_blocks);
}

/// Do page and number of blocks say everything of arenas and lanes?
static bool is_plain(const Arrangement& arrangement) {
  if (!arrangement.is_uniform() || arrangement.lanes.empty()) return false;
  Arrangement plain;
  plain.pools = arrangement.pools;
  plain.extras = arrangement.extras;
  set_plain(plain, arrangement.page_bytes(), arrangement.num_blocks());
  return plain.arenas == arrangement.arenas && plain.lanes == arrangement.lanes;
}

/// Who has which ids and bytes. Written in full; a reader takes page and number of blocks alone where they say all.
template <class Archive, Is<CachePlan> T>
static void fields_of_ids(Archive& archive, T& plan) {
  using Number = std::optional<std::int64_t>;
  const bool plain = archive.omits("arenas", false);
  std::int64_t page_bytes = 0, num_blocks = 0;
  if (plain)
    archive("page_bytes", page_bytes);
  else
    archive.derived_if_any("page_bytes", [&plan] { return plan.is_uniform() ? Number(plan.page_bytes()) : Number(); },
                           "P, of every page; left out where pages differ.");
  archive("groups", plan.groups, "In the order of their specs.");
  archive("pools", plan.pools, "One per page of a full group.");
  archive("extras", plan.extras, "Beside the pages.");
  if constexpr (Archive::reads) {
    if (plain) {
      archive("num_blocks", num_blocks);
      set_plain(plan, page_bytes, num_blocks);
    }
  }
  const auto of_only_arena = [&](const char* name, auto number, const Meaning& meaning) {
    archive.derived_if_any(name, [&plan, number] {
      return plan.arenas.size() == 1 ? Number(number(plan.arenas.front())) : Number();
    }, meaning);
  };
  if (!plain)
    of_only_arena("num_blocks", [](const ArenaPlan& arena) { return arena.num_ids; },
                  "Ids of the only arena, null block 0 included; left out where arenas are several.");
  of_only_arena("usable_blocks", [](const ArenaPlan& arena) { return arena.usable_ids(); }, "Without the null block.");
  if (plain) return;
  of_only_arena("bytes_per_block", [](const ArenaPlan& arena) { return arena.bytes_per_id; },
                "W: bytes of an id of the only arena, with what lies beside its pages.");
  std::vector<ArenaWithLanes> arenas;
  if constexpr (!Archive::reads) arenas = arenas_with_lanes(plan);
  archive("arenas", arenas, {"Ids and the bytes that they own.", 1});
  if constexpr (Archive::reads) set_arenas(plan, arenas, archive.path_of("arenas"));
  archive.derived_if_any("lanes", [&plan] {
    return is_plain(plan) || plan.cache_order ? std::nullopt : std::optional(plan.lanes);
  }, "The same lanes in one list, where pools have pages or ids of their own.");
}

template <class Archive, Is<CachePlan> T>
static void fields(Archive& archive, T& plan) {
  archive.named("plan", "The layout of the model with N attention layers a page.");
  archive.choice("anyOf", {{"page_bytes", "num_blocks", "usable_blocks", "bytes_per_block"},
                           {"physical_order", "tensors", "num_blocks", "usable_blocks", "bytes_per_block"},
                           {"lanes"}});
  archive("release", plan.rules, "The engine whose rules these are.");
  archive.unless_default("backend_profile", plan.backend_profile,
                         "Whose declarations of attention and state backends are taken; left out where none is named.");
  archive("attention_pack_size", plan.attention_pack_size, {"N.", 1});
  archive("cache_mode", plan.cache_mode, "Where recurrent states are kept for prefix caching.");
  archive("speculative_tokens", plan.speculative_tokens, "Draft tokens of a step.");
  archive("max_num_batched_tokens", plan.max_num_batched_tokens,
          "Tokens of one step; bounds what a sliding window holds.");
  archive.unless("concurrent_batches", plan.concurrent_batches, 1,
                 {"Steps in flight, with whose tokens a sliding window holds; default 1.", 1});
  archive.unless("lookahead_tokens", plan.lookahead_tokens, 0,
                 "Tokens behind a prefix that its key covers too, for a drafter; default 0.");
  archive.unless("decode_context_parallel", plan.decode_context_parallel, 1,
                 {"Ranks over which the tokens of full attention are spread; default 1.", 1});
  archive.unless("strategy", plan.strategy, Strategy::packed_attention,
                 "How layers are arranged; default packed_attention.");
  archive.unless_default("what_if", plan.what_if);
  archive("specs", plan.specs, "In the order of their first layer.");
  archive.unless_default("physical_order", plan.cache_order,
                         "Layers, blocks, heads, tokens, bytes of the one allocation, outermost first; else left out.");
  fields_of_ids(archive, plan);
  archive.unless_default("shared_kv", plan.shared_kv, "Layers that cache no K and V and read those of another one.");
  archive.unless_default("radix", plan.tree_pools);
  archive.unless_default("pool_groups", plan.pool_groups);
  archive.unless_default("sequence_rows", plan.rows);
  archive("capacity", plan.capacity, {"One per length that was asked about.", 1});
  archive("max_fitting_tokens", plan.max_fitting_tokens,
          "Longest request that the usable blocks hold; 1099511627776 where they hold any.");
  archive.derived_if_any("any_length_fits", [&plan] {
    return plan.max_fitting_tokens >= largest_tokens ? std::optional(true) : std::nullopt;
  }, "true where no length is too long for the blocks; else it is left out.");
  archive("max_running_requests", plan.max_running_requests, "Requests of one token that the usable blocks hold.");
  archive("max_running_requests_by_states", plan.max_running_requests_by_states,
          "The same counting states alone; 0 without any.");
  archive("one_token_request_bytes", plan.one_token_request_bytes, "What a request of one token costs.");
  archive("prefix", plan.prefix);
  archive("waste", plan.waste);
  archive.derived_if_any("tensors", [&plan] {
    return plan.cache_order ? std::optional(allocated_tensors(plan)) : std::nullopt;
  }, "What the engine allocates, group by group, where all layers share one allocation.");
  archive("views", plan.views, "In the order of the groups and pools.");
  archive.unless_default("view_error", plan.view_error,
                         "Why the engine makes no views though its planning passes; left out where it makes them.");
  archive("workspace", plan.workspace);
  archive("warnings", plan.warnings, "May be empty.");
  archive.unless_default("kernels", plan.kernels, "Of each card that was given; left out where none was.");
  archive("derivation", plan.derivation, "In the order in which the decisions were taken.");
  if constexpr (Archive::reads) check_references(plan, archive.path());  // before what is derived follows them
}

template <class Archive, Is<PlanSet> T>
static void fields(Archive& archive, T& set) {
  archive.named("plans", "One model under one engine setting, one plan per pack size. Names tell the units.");
  archive.derived("schema", [] { return std::string(plan_schema_id); },
                  {"This format.", [] { return std::vector<std::string>{plan_schema_id}; }});
  archive("model", set.model, "As published.");
  archive("tensor_parallel", set.tensor_parallel, {"Ranks.", 1});
  archive("strategy", set.strategy, {"uniform_page where only N = 1 was asked about.", [] {
    std::vector<std::string> names = names_of(strategy_names);
    names.insert(names.begin(), "uniform_page");
    return names;
  }});
  archive("plans", set.plans, {"In the order of the pack sizes asked for.", 1});
}

nlohmann::ordered_json plan_schema() { return JsonSchema::of<PlanSet>("urn:hybridkv:plan:1", "Plans of hybridkv"); }

nlohmann::ordered_json to_json(const PlanSet& plans) { return JsonWriter::encode(plans); }

void write_json(const PlanSet& set, const std::function<CachePlan(std::size_t)>& plan_at,
                const std::function<void(const std::string&)>& write) {
  expects(!set.plans.empty(), "at least one plan");
  const PlanSet shell{set.model, set.tensor_parallel, set.strategy, {}};
  nlohmann::ordered_json fields_of_set = to_json(shell);
  fields_of_set.erase("plans");
  write_json_list(fields_of_set, "plans", set.plans.size(),
                  [&](std::size_t i) { return JsonWriter::encode(plan_at(i)); }, write);
}

nlohmann::ordered_json to_json(const Decision& decision) { return JsonWriter::encode(decision); }

PlanSet plan_set_from_json(const nlohmann::ordered_json& json) {
  if (!json.is_object() || !json.contains("schema") || json["schema"] != plan_schema_id)
    throw InputError(fmt::format("no plan this version reads: its \"schema\" must be \"{}\"", plan_schema_id));
  PlanSet set;
  JsonReader reader(json, "");
  fields(reader, set);
  reader.finish();
  if (set.plans.empty()) JsonReader::fail("plans", "needs at least one plan");
  return set;
}

}  // namespace hybridkv
